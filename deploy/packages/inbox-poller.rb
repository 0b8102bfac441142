# Homebrew: brew install --build-from-source ./deploy/packages/inbox-poller.rb, from an own tap. Not run by the project's tests,
# which have no macOS: they only hold it against the libraries that CMake asks for.
class InboxPoller < Formula
  desc "Leader's side of a team of coding agents: answers requests, keeps the lead's mail"
  homepage "file:///usr/local/share/doc/inbox-poller/README.md"
  license "Apache-2.0"
  head ".", using: :git

  depends_on "cmake" => :build
  depends_on "ninja" => :build
  depends_on "node" => :build
  depends_on "python@3.13" => :build
  depends_on "boost"
  depends_on "cli11"
  depends_on "hiredis"
  depends_on "ncurses"
  depends_on "openssl@3"
  depends_on "spdlog"
  depends_on "sqlite"
  depends_on "tomlplusplus"
  depends_on "xxhash"

  def install
    system "cmake", "-S", ".", "-B", "build", "-G", "Ninja", "-DINBOX_POLLER_TESTS=OFF",
                    "-DCMAKE_UNITY_BUILD=ON", *std_cmake_args
    system "cmake", "--build", "build"
    bin.install "build/inbox-poller"
    system bin/"inbox-poller", "manual", man1
    page = Utils.safe_popen_read("python3", "deploy/packages/toml_page.py", "docs/reference/configuration.md", version.to_s)
    (man5/"inbox-poller.toml.5").write page
    generate_completions_from_executable(bin/"inbox-poller", "completion")
    doc.install "README.md", "CHANGELOG.md", "docs", "deploy/examples"
  end

  service do
    run [opt_bin/"inbox-poller", "run", "--log-format", "json"]
    keep_alive successful_exit: false
    log_path var/"log/inbox-poller.log"
    error_log_path var/"log/inbox-poller.log"
  end

  test do
    assert_match version.to_s, shell_output("#{bin}/inbox-poller --version") unless head?
    (testpath/"team.toml").write("[team]\nname = \"demo\"\nroot = \"#{testpath}\"\n")
    chmod 0600, testpath/"team.toml"
    system bin/"inbox-poller", "check-config", "--config", testpath/"team.toml"
  end
end
