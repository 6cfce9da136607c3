# A formula of Homebrew on Linux: the static program of a release. packages/fill writes what stands
# between two @, and drops a CPU whose archive the release has not.
class Groma < Formula
  desc "Measures what a computer's hardware and operating system cost"
  homepage "@URL@"
  version "@VERSION@"
  license any_of: ["MIT", "Apache-2.0"]

  depends_on :linux

  on_intel do
    url "@URL@/groma-@VERSION@-linux-x86_64.tar.gz"
    sha256 "@SHA256_X86_64@"
  end

  on_arm do
    url "@URL@/groma-@VERSION@-linux-aarch64.tar.gz"
    sha256 "@SHA256_AARCH64@"
  end

  def install
    bin.install "bin/groma"
    man1.install Dir["share/man/man1/*"]
    bash_completion.install "share/bash-completion/completions/groma"
    zsh_completion.install "share/zsh/site-functions/_groma"
    fish_completion.install "share/fish/vendor_completions.d/groma.fish"
    doc.install Dir["share/doc/groma/*"]
  end

  test do
    assert_match version.to_s, shell_output("#{bin}/groma --version")
    system bin/"groma", "run", "syscall.getppid", "--profile", "quick", "--no-store"
  end
end
