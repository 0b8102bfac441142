"""The page in a real browser (Debian's Chromium, driven by playwright-core): the whole way of a request, keys, 1,000 requests, restarts,
what another site can do, and axe-core's word. Screenshots are kept in INBOX_POLLER_SHOTS."""

import http.server
import json
import os
import pathlib
import shutil
import subprocess
import threading
import unittest

import team as wire
from case import ProcessTest
from daemon import wait_for
from page import Page

PATIENCE = float(os.environ.get("TEST_PATIENCE", "1"))


class Browser:
    def __init__(self, test):
        modules = os.environ.get("INBOX_POLLER_BROWSER", "")
        program = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
        if not program or not shutil.which("node"):
            test.skipTest("a browser is missing: deploy/install-deps web (chromium, node)")
        if not (pathlib.Path(modules) / "playwright-core").is_dir():
            test.skipTest("playwright-core is missing: tests/interop/install-peers FOLDER ../web brings it from npm")
        self.process = subprocess.Popen(["node", str(pathlib.Path(__file__).with_name("browser.mjs")), modules, program], stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, text=True, env=dict(os.environ, HOME=str(test.folder)))
        test.stops.append(self.stop)
        assert self.process.stdout.readline(), "the browser did not start"
        self.do("page.setDefaultTimeout(%d)" % (10000 * PATIENCE))

    def do(self, body):
        """The value of this body of an async JavaScript function: `page` is the browser's."""
        self.process.stdin.write(json.dumps(body) + "\n")
        self.process.stdin.flush()
        answer = json.loads(self.process.stdout.readline())
        if "error" in answer:
            raise AssertionError(body + "\n" + answer["error"])
        return answer["value"]

    def sees(self, text):
        return self.do("await page.getByText(%s).first().waitFor()" % json.dumps(text))

    def shot(self, name):
        folder = os.environ.get("INBOX_POLLER_SHOTS")
        if folder:
            pathlib.Path(folder).mkdir(parents=True, exist_ok=True)
            self.do("await page.screenshot({ path: %s })" % json.dumps(str(pathlib.Path(folder) / (name + ".png"))))

    def stop(self):
        self.process.stdin.close()
        try:
            self.process.wait(20 * PATIENCE)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self.process.stdout.close()


class InABrowser(ProcessTest):
    def setUp(self):
        super().setUp()
        self.team = self.make_team()
        self.start_daemon(self.team, "\n[limits]\npending_per_worker = 1000\n")
        self.page = Page(self)
        self.browser = Browser(self)

    def open(self, link=None):
        self.browser.do("await page.goto(%s); await page.locator('nav').waitFor()" % json.dumps(link or self.page.link))

    def ask(self, worker, command="make deploy"):
        return self.pending_id(worker.ask("permission", tool="Bash", input={"command": command}))

    def approve(self):
        self.browser.do("await page.locator('.actions').scrollIntoViewIfNeeded(); await page.locator('button.yes[aria-disabled=false]').click()")
        self.browser.sees("It is approved by carol")

    def unfit(self):
        self.assertEqual(self.browser.do("return await axe()"), [])

    def test_a_request_comes_by_itself_is_read_and_answered_and_the_worker_goes_on(self):
        b = self.browser
        self.open()
        b.sees("Nothing is waiting for an answer.")
        self.assertNotIn("token", b.do("return page.url()"))
        worker = self.start_worker(self.team, "ada")
        request = self.ask(worker, "git status && make deploy # <img src=x onerror=alert(1)>")
        b.sees("<img src=x onerror=alert(1)>")
        self.assertEqual(b.do("return await page.title()"), "(1) InboxPoller")
        b.do("await page.locator('button.row').click()")
        b.sees("Why you are asked:")
        self.assertEqual(b.do("return await page.locator('img').count()"), 0)
        b.do("await page.emulateMedia({ colorScheme: 'dark' })")
        self.unfit()
        b.shot("ask-dark")
        b.do("await page.emulateMedia({ colorScheme: 'light' })")
        self.unfit()
        b.shot("request")
        b.do("await page.setViewportSize({ width: 360, height: 740 })")
        self.unfit()
        self.assertLessEqual(b.do("return await page.evaluate(() => document.documentElement.scrollWidth)"), 360)
        b.shot("ask-phone")
        self.approve()
        self.assertEqual(self.answer(worker, request["request_id"])["event"], "ran")
        # By keys alone: denied with a reason, and always with the rule's text.
        second, third = self.ask(worker, "make second"), self.ask(worker, "make third")
        b.sees("Bash: make third")
        b.do("await page.setViewportSize({ width: 1000, height: 700 }); await page.getByText('Put away').click(); await page.getByText('Put away').waitFor({ state: 'detached' })")
        b.do("await page.keyboard.press('j'); await page.keyboard.press('Enter'); await page.locator('button.yes[aria-disabled=false]').waitFor()")
        b.do("await page.keyboard.press('d'); await page.keyboard.type('not on a Friday'); await page.keyboard.press('Enter')")
        b.sees("It is denied by carol")
        self.assertEqual(self.answer(worker, second["request_id"])["event"], "refused")
        b.do("await page.locator('button.row').nth(1).focus(); await page.keyboard.press('Enter'); await page.locator('button.yes[aria-disabled=false]').waitFor()")
        b.do("await page.keyboard.press('Shift+A'); await page.locator('dialog[open] code').first().waitFor()")
        self.assertIn("Bash(make third", b.do("return await page.locator('dialog[open] code').first().innerText()"))
        self.unfit()
        b.do("await page.keyboard.press('Enter')")  # the answer that does nothing has the focus
        b.do("await page.locator('dialog[open]').waitFor({ state: 'detached' })")
        self.assertEqual(len(self.daemon.ask("pending")["requests"]), 1)
        b.do("await page.keyboard.press('Shift+A'); await page.locator('dialog[open] button.yes').click()")
        b.sees("from now on: Bash(make third")
        self.assertEqual(self.answer(worker, third["request_id"])["event"], "ran")
        for view in ("answers", "workers", "chat", "way", "plots"):
            b.do("await page.goto('http://%s/#/%s'); await page.locator('main h2').first().waitFor({ state: 'attached' })" % (self.page.host, view))
            self.unfit()
            b.shot(view)
        b.do("await page.locator('.u-wrap').first().waitFor({ state: 'attached' })")
        self.assertEqual(b.do("return said"), [])

    def test_nothing_is_approved_that_just_came_into_view_or_was_not_seen_to_its_end(self):
        b = self.browser
        self.open()
        worker = self.start_worker(self.team, "ada")
        self.ask(worker, "make long\n" + "echo line\n" * 200)
        b.sees("Bash: make long")
        # A key in the very moment in which it is opened, and the button far below.
        b.do("await page.locator('button.row').focus(); await page.keyboard.press('Enter'); await page.keyboard.press('a')")
        b.sees("Read it to its end first.")
        self.assertEqual(b.do("return await page.locator('dialog[open]').count()"), 0)
        self.assertEqual(len(self.daemon.ask("pending")["requests"]), 1)
        self.approve()

    def test_a_thousand_requests_are_shown_and_one_of_them_is_answered(self):
        b = self.browser
        self.open()
        entries = [wire.entry(name, wire.stringify(wire.permission_request(name, "Bash", {"command": "make part-%03d-%s" % (i, name)}, "perm-%s-%d" % (name, i))))
                   for name in ("ada", "bob") for i in range(500)]
        wire.rewrite(self.team.lead_inbox, wire.stringify(entries))
        b.do("await page.waitForFunction(() => document.title.startsWith('(1000)'), null, { timeout: %d })" % (30000 * PATIENCE))
        self.assertEqual(b.do("return await page.locator('button.row').count()"), 1000)
        b.do("await page.getByLabel('Filter').fill('part-417 bob')")
        b.do("await page.waitForFunction(() => document.querySelectorAll('button.row').length === 1)")
        b.do("await page.locator('button.row').click()")
        self.approve()
        wait_for("one less", lambda: len(self.daemon.ask("pending")["requests"]) == 999)
        self.assertEqual(b.do("return said"), [])

    def test_restarts_of_the_daemon_and_of_the_page_are_told_and_survived(self):
        b = self.browser
        self.open()
        worker = self.start_worker(self.team, "ada")
        request = self.ask(worker)
        b.do("await page.locator('button.row').click()")
        self.daemon.kill()
        b.sees("The daemon does not answer")
        b.do("await page.locator('button.yes[aria-disabled=false]').click()")
        b.sees("no daemon answers")
        self.daemon.start()
        b.do("await page.locator('.away').waitFor({ state: 'detached' })")
        self.assertEqual(len(self.daemon.ask("pending")["requests"]), 1, "nothing was answered meanwhile")
        self.page.stop()
        b.sees("Connecting")
        self.page = Page(self, port=self.page.port)
        b.sees("This browser has no session here")
        self.unfit()
        self.open(self.page.link)
        b.do("await page.locator('button.row').click()")
        self.approve()
        self.assertEqual(self.answer(worker, request["request_id"])["event"], "ran")

    def test_what_another_site_can_do_is_nothing(self):
        b = self.browser
        self.open()
        self.ask(self.start_worker(self.team, "ada"))
        b.sees("Bash: make deploy")
        mine = "http://" + self.page.host
        foreign = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Foreign)
        foreign.page = self.page.host
        threading.Thread(target=foreign.serve_forever, daemon=True).start()
        self.addCleanup(foreign.server_close)
        self.addCleanup(foreign.shutdown)
        b.do("await page.goto('http://127.0.0.1:%d/')" % foreign.server_port)
        tried = b.do("""return await page.evaluate(async mine => {
            const tries = [];
            for (const [path, how] of [['/api/decisions', { credentials: 'include' }], ['/api/answer', { method: 'POST', credentials: 'include', body: '{}' }],
                ['/api/answer', { method: 'POST', mode: 'no-cors', credentials: 'include', body: '{}' }], ['/metrics', {}]])
              tries.push(await fetch(mine + path, how).then(answer => answer.type, () => 'refused'));
            return tries; }, '%s')""" % mine)
        self.assertEqual(tried, ["refused"] * 4)
        framed = b.do("""return await page.evaluate(mine => new Promise(done => {
            const frame = document.createElement('iframe');
            frame.onload = () => { let seen; try { seen = frame.contentDocument?.body?.innerText ?? 'not ours'; } catch { seen = 'not ours'; } done(seen); };
            frame.src = mine; document.body.append(frame); }), '%s')""" % mine)
        self.assertEqual(framed, "not ours")
        self.assertEqual(b.do("return await page.frames().at(-1).locator('nav').count()"), 0)
        # The name of another site, rebound to this machine: the browser takes it for that site's own page.
        self.assertEqual(b.do("return (await page.goto('http://rebound.test:%d/')).status()" % self.page.port), 421)
        # From elsewhere a link leads to the page, and the session is still its own.
        b.do("await page.goto('http://127.0.0.1:%d/'); await page.locator('a').click(); await page.locator('nav').waitFor()" % foreign.server_port)
        self.assertEqual(len(self.daemon.ask("pending")["requests"]), 1)


class Foreign(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200)
        self.send_header("Content-Type", "text/html")
        self.end_headers()
        self.wfile.write(b"<a href='http://%s/'>win a prize</a>" % self.server.page.encode())

    def log_message(self, *_):
        pass


if __name__ == "__main__":
    unittest.main()
