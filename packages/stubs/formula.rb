# Stands in for Homebrew: loads a formula, unpacks its archive for a CPU after comparing the
# checksum, installs it below a prefix and runs its test.
#
#     ruby formula.rb FORMULA CPU PREFIX
#
# CPU is intel or arm. Prints the archive. Installs and tests only where PREFIX is given.
require "digest"
require "fileutils"
require "pathname"
require "shellwords"

# A directory of the prefix, which installs what it is given.
class Place < Pathname
  def install(*files)
    mkpath
    files.flatten.each { |file| FileUtils.cp(file, to_s) }
  end
end

class Formula
  class << self
    attr_reader :given, :tested

    def method_missing(name, *values)
      known = %i[desc homepage url sha256 version license depends_on]
      raise NoMethodError, "no #{name} in a formula" unless known.include?(name)

      (@given ||= {})[name] = values.first
    end

    def respond_to_missing?(*)
      true
    end

    def on_intel
      yield if CPU == "intel"
    end

    def on_arm
      yield if CPU == "arm"
    end

    def test(&block)
      @tested = block
    end
  end

  {
    bin: "bin", man1: "share/man/man1", doc: "share/doc/groma",
    bash_completion: "etc/bash_completion.d", zsh_completion: "share/zsh/site-functions",
    fish_completion: "share/fish/vendor_completions.d"
  }.each { |name, path| define_method(name) { Place.new("#{PREFIX}/#{path}") } }

  def version
    self.class.given[:version]
  end

  def shell_output(command)
    `#{command}`
  end

  def assert_match(expected, actual)
    raise "no #{expected} in #{actual}" unless actual.include?(expected)
  end

  def system(*words)
    super(*words.map(&:to_s), out: File::NULL, err: File::NULL) or raise "#{words} failed"
  end
end

formula, CPU, PREFIX = ARGV
load formula
url = Groma.given[:url]
puts url
archive = url.delete_prefix("file://")
raise "the checksum of #{archive} is another" if Digest::SHA256.file(archive).hexdigest != Groma.given[:sha256]

if PREFIX
  Dir.mkdir("unpacked")
  Dir.chdir("unpacked") do
    # As Homebrew does, in the archive's only directory.
    Kernel.system("tar", "--strip-components=1", "-xzf", archive) or raise "tar failed"
    Groma.new.install
  end
  Groma.new.instance_eval(&Groma.tested)
end
