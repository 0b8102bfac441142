#include "schema/secrets.hpp"

#include "tests/support/catch.hpp"

namespace inbox_poller::schema::secrets_test {

TEST_CASE("what looks like a credential is masked, the rest of the sentence stays") {
  CHECK(mask_secrets("git push https://x") == "git push https://x");
  CHECK(mask_secrets("curl -H 'Authorization: Bearer abcdef123456' x") == "curl -H 'Authorization: Bearer ***' x");
  CHECK(mask_secrets("PASSWORD=hunter2 run") == "PASSWORD=*** run");
  CHECK(mask_secrets("export API_KEY=\"abc\" next") == "export API_KEY=\"***\" next");
  CHECK(mask_secrets("use sk-ant-REDACTED now") == "use *** now");
  CHECK(mask_secrets("ghp_0123456789abcdef0123") == "***");
  CHECK(mask_secrets("AWS_SECRET_ACCESS_KEY=abc aws s3 ls") == "AWS_SECRET_ACCESS_KEY=*** aws s3 ls");
  CHECK(mask_secrets(R"({"db_password": "hunter2 and more","x":1})") == R"({"db_password": "***","x":1})");
  CHECK(mask_secrets("mysql --password hunter2 -h db") == "mysql --password *** -h db");
  CHECK(mask_secrets("curl -H 'authorization: Basic dXNlcjpw' x") == "curl -H 'authorization: Basic ***' x");
  CHECK(mask_secrets("curl -u ann:hunter2 x; git push -u origin") == "curl -u ann:*** x; git push -u origin");
  CHECK(mask_secrets("git clone https://ann:hunter2@example.com/x") == "git clone https://ann:***@example.com/x");
  CHECK(mask_secrets("see https://example.com:8443/a@b") == "see https://example.com:8443/a@b");
  CHECK(mask_secrets("echo '-----BEGIN RSA PRIVATE KEY-----\nMII") == "echo '***");
  for (const char* end : {"password", "password=", "--token ", "://", "-u ", "bearer ", "\"secret\": \"", "sk-"})
    CHECK(mask_secrets(end) == end);
  CHECK(mask_secrets("a token of thanks") == "a token of thanks");
  CHECK(mask_secrets("task-12") == "task-12");
}

}  // namespace inbox_poller::schema::secrets_test
