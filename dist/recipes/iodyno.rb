# Homebrew on Linux: brew install --formula ./iodyno.rb
class Iodyno < Formula
  desc "Dynamometer for NVMe storage"
  homepage "@HOMEPAGE@"
  version "@VERSION@"
  license any_of: ["Apache-2.0", "MIT"]
  depends_on :linux

  on_intel do
    url "@URL@/iodyno-@VERSION@-x86_64-linux-musl.tar.gz"
    sha256 "@SHA256_X86_64@"
  end
  on_arm do
    url "@URL@/iodyno-@VERSION@-aarch64-linux-musl.tar.gz"
    sha256 "@SHA256_AARCH64@"
  end

  def install
    bin.install "iodyno"
    man1.install Dir["man/*.1"]
    bash_completion.install "completions/iodyno.bash" => "iodyno"
    zsh_completion.install "completions/_iodyno"
    fish_completion.install "completions/iodyno.fish"
  end

  test do
    assert_match version.to_s, shell_output("#{bin}/iodyno --version")
  end
end
