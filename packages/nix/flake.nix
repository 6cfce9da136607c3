# A flake of Nix, for the source that it lies in: a checkout or the source archive of a release. It
# needs no checksum, since Cargo.lock has those of all crates. Nothing is locked: any nixpkgs with
# Rust 1.95 will do, and `--override-input nixpkgs ...` takes your own.
{
  description = "Measures what a computer's hardware and operating system cost";

  inputs.nixpkgs.url = "nixpkgs/nixpkgs-unstable";

  outputs =
    { self, nixpkgs }:
    let
      root = ../..;
      each = nixpkgs.lib.genAttrs [
        "x86_64-linux"
        "aarch64-linux"
        "riscv64-linux"
      ];
    in
    {
      packages = each (
        system:
        let
          pkgs = nixpkgs.legacyPackages.${system};
        in
        {
          default = pkgs.rustPlatform.buildRustPackage {
            pname = "groma";
            version = (builtins.fromTOML (builtins.readFile (root + "/Cargo.toml"))).workspace.package.version;
            src = root;
            cargoLock.lockFile = root + "/Cargo.lock";
            buildType = "ship";
            cargoBuildFlags = [ "--package=groma" ];
            buildFeatures = [ "full" ];
            # Most tests measure, which a busy builder disturbs; `checks` has one that runs.
            doCheck = false;
            postInstall = ''
              mv "$out/bin/groma" .
              sh packages/install ./groma "$out"
            '';
            meta = {
              description = "Measures what a computer's hardware and operating system cost";
              license = [
                nixpkgs.lib.licenses.mit
                nixpkgs.lib.licenses.asl20
              ];
              mainProgram = "groma";
              platforms = nixpkgs.lib.platforms.linux;
            };
          };
        }
      );

      checks = each (system: {
        measures = nixpkgs.legacyPackages.${system}.runCommand "groma-measures" { } ''
          ${self.packages.${system}.default}/bin/groma run syscall.getppid --profile quick --no-store
          touch "$out"
        '';
      });
    };
}
