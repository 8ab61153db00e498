# Nix: nix-build -E '(import <nixpkgs> {}).callPackage ./iodyno.nix {}'
{ stdenvNoCC, fetchurl, lib }:
let
  version = "@VERSION@";
  sha256 = {
    x86_64-linux = "@SHA256_X86_64@";
    aarch64-linux = "@SHA256_AARCH64@";
  };
  system = stdenvNoCC.hostPlatform.system;
in
stdenvNoCC.mkDerivation {
  pname = "iodyno";
  inherit version;
  src = fetchurl {
    url = "@URL@/iodyno-${version}-${lib.removeSuffix "-linux" system}-linux-musl.tar.gz";
    sha256 = sha256.${system} or (throw "iodyno is not built for ${system}");
  };
  dontStrip = true;
  installPhase = ''
    install -Dm755 -t $out/bin iodyno
    install -Dm644 -t $out/share/man/man1 man/*.1
    install -Dm644 completions/iodyno.bash $out/share/bash-completion/completions/iodyno
    install -Dm644 -t $out/share/zsh/site-functions completions/_iodyno
    install -Dm644 -t $out/share/fish/vendor_completions.d completions/iodyno.fish
  '';
  meta = {
    description = "A dynamometer for NVMe storage";
    homepage = "@HOMEPAGE@";
    license = with lib.licenses; [ asl20 mit ];
    platforms = builtins.attrNames sha256;
    mainProgram = "iodyno";
  };
}
