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
        self.browser.do("await page.locator('li.request button.yes[aria-disabled=false]').first().click()")
        self.browser.sees("Approved by carol")

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
        b.sees("Why you are asked")
        b.sees("9m")  # of the ten minutes that are left
        self.assertEqual(b.do("return await page.locator('main img').count()"), 0)
        b.do("await page.goto('http://%s/#/request/%s')" % (self.page.host, request["message_key"]))  # as a notice has it
        b.sees("unless answered")  # behind the click
        for scheme in ("dark", "light"):
            b.do("await page.emulateMedia({ colorScheme: '%s' })" % scheme)
            self.unfit()
        b.do("await page.setViewportSize({ width: 360, height: 740 })")
        self.unfit()
        self.assertLessEqual(b.do("return await page.evaluate(() => document.documentElement.scrollWidth)"), 360)
        self.approve()
        self.assertEqual(self.answer(worker, request["request_id"])["event"], "ran")
        b.sees("✓")  # what just happened
        # By keys alone: denied with a reason, and always with the rule's text.
        second, third = self.ask(worker, "git status && make second"), self.ask(worker, "make third")
        b.sees("make third")
        b.do("await page.setViewportSize({ width: 1000, height: 700 }); await page.getByText('Put away 1').click(); await page.locator('li.request.over').waitFor({ state: 'detached' })")
        b.do("await page.keyboard.press('j'); await page.locator('li.current button.yes[aria-disabled=false]').waitFor()")
        b.do("await page.keyboard.press('Enter')")
        b.sees("allowed by Bash(git status")  # a part of it
        b.do("await page.locator('li.current button.yes[aria-disabled=false]').waitFor()")
        b.do("await page.keyboard.press('d'); await page.locator('dialog[open] input').waitFor(); await page.keyboard.press('Enter')")
        b.sees("Say why: the worker reads it.")
        self.unfit()
        b.do("await page.keyboard.type('not on a Friday'); await page.keyboard.press('Enter')")
        b.sees("Denied by carol: not on a Friday")
        self.assertEqual(self.answer(worker, second["request_id"])["event"], "refused")
        b.do("await page.keyboard.press('j'); await page.locator('li.current button.yes[aria-disabled=false]').waitFor()")
        b.do("await page.keyboard.press('Shift+A'); await page.locator('dialog[open] code').first().waitFor()")
        self.assertIn("Bash(make third", b.do("return await page.locator('dialog[open] code').first().innerText()"))
        self.unfit()
        b.do("await page.keyboard.press('Enter')")  # the answer that does nothing has the focus
        b.do("await page.locator('dialog[open]').waitFor({ state: 'detached' })")
        self.assertEqual(len(self.daemon.ask("pending")["requests"]), 1)
        b.do("await page.keyboard.press('Shift+A'); await page.locator('dialog[open] button.yes[aria-disabled=false]').click()")
        b.sees("from now on: Bash(make third")
        self.assertEqual(self.answer(worker, third["request_id"])["event"], "ran")
        for view in ("answers", "workers", "chat", "way", "plots"):
            b.do("await page.goto('http://%s/#/%s'); await page.locator('main.view h2').first().waitFor()" % (self.page.host, view))
            for width in (1400, 390):
                b.do("await page.setViewportSize({ width: %d, height: 800 })" % width)
                self.unfit()
                self.assertLessEqual(b.do("return await page.evaluate(() => document.documentElement.scrollWidth)"), width)
                b.shot("%s-%d" % (view, width))
        b.do("await page.locator('.u-wrap').first().waitFor({ state: 'attached' })")
        self.assertEqual(b.do("return said"), [])

    def test_several_are_chosen_read_to_the_end_and_answered_at_once(self):
        b = self.browser
        self.open()
        worker = self.start_worker(self.team, "ada")
        requests = [self.ask(worker, "make part-%d\n" % number + "echo line\n" * 40) for number in range(3)]
        b.do("await page.locator('li.request').nth(2).waitFor(); await page.keyboard.press('j')")
        b.do("await page.keyboard.press('x'); await page.keyboard.press('j'); await page.keyboard.press('x'); await page.keyboard.press('a')")
        b.do("await page.locator('dialog[open]').waitFor(); await page.locator('dialog button.yes').click({ force: true })")
        b.sees("Read it to its end first.")
        self.assertEqual(len(self.daemon.ask("pending")["requests"]), 3)
        self.unfit()
        b.do("await page.locator('dialog .end').evaluate(end => end.scrollIntoView()); await page.locator('dialog button.yes[aria-disabled=false]').click()")
        b.sees("2 approved")
        for request in requests[:2]:
            self.assertEqual(self.answer(worker, request["request_id"])["event"], "ran")
        self.assertEqual([one["request_id"] for one in self.daemon.ask("pending")["requests"]], [requests[2]["request_id"]])
        b.do("await page.getByLabel('All').check(); await page.getByText('Deny 1').click(); await page.locator('dialog input').fill('enough'); await page.keyboard.press('Enter')")
        self.assertEqual(self.answer(worker, requests[2]["request_id"])["event"], "refused")

    def test_nothing_moves_when_news_comes(self):
        b = self.browser
        self.open()
        worker = self.start_worker(self.team, "ada")
        first, second = self.ask(worker, "make first"), self.ask(worker, "make second")
        b.sees("make second")
        places = """return await page.evaluate(() => ['#request-%s', '#request-%s', '.tools', '.teams h2', '.news h2'].map(one => {
            const box = document.querySelector(one).getBoundingClientRect(); return [box.x, box.y, box.width, box.height]; }))""" % (first["message_key"], second["message_key"])
        for size in ("{ width: 1400, height: 900 }", "{ width: 390, height: 844 }"):
            b.do("await page.setViewportSize(%s)" % size)
            before = b.do(places)
            third = self.ask(worker, "make third of " + size)
            b.sees("make third of " + size)
            self.daemon.answer("deny", third["request_id"], by="bob", reason="no")
            b.sees("Denied by bob")
            self.team.say("bob", "the tests are green " + size)
            b.sees("the tests are green " + size)
            wire.append(self.team.lead_inbox, wire.entry("bob", wire.stringify(wire.idle_notification("bob", "failed", "it broke"))))
            b.do("await page.locator('.teams .bad').getByText('failed').waitFor()")
            after = b.do(places)
            self.assertEqual(after[:3], before[:3])
            self.assertEqual(after[3][:2] if "1400" in size else [], before[3][:2] if "1400" in size else [])
            b.do("await page.getByText('Put away').click()")
        self.daemon.answer("deny", first["request_id"], by="bob", reason="no")
        b.do("await page.locator('#request-%s.over').waitFor()" % first["message_key"])
        self.assertEqual(b.do(places)[1], after[1], "a row that was answered keeps its place and size")
        b.do("await page.evaluate(() => document.dispatchEvent(new Event('visibilitychange')))")  # somebody comes back to the page
        b.do("await page.locator('li.request.over').waitFor({ state: 'detached' })")

    def test_nothing_is_approved_that_just_came_into_view_or_was_not_seen_to_its_end(self):
        b = self.browser
        self.open()
        worker = self.start_worker(self.team, "ada")
        self.ask(worker, "make long\n" + "echo line\n" * 200)
        b.sees("make long")
        b.do("await page.keyboard.press('j'); await page.keyboard.press('a')")
        b.sees("Read it to its end first.")  # and the end is scrolled to
        b.do("await page.locator('.text').evaluate(text => { text.scrollTop = 0; })")
        b.do("await page.locator('li.request button.yes[aria-disabled=true]').waitFor()")
        b.do("await page.locator('li.request button.yes').click({ force: true })")
        self.assertEqual(b.do("return await page.locator('dialog[open]').count()"), 0)
        self.assertEqual(len(self.daemon.ask("pending")["requests"]), 1)
        b.do("await page.locator('.end').evaluate(end => end.scrollIntoView())")
        self.approve()

    def test_a_thousand_requests_are_shown_and_one_of_them_is_answered(self):
        b = self.browser
        self.open()
        entries = [wire.entry(name, wire.stringify(wire.permission_request(name, "Bash", {"command": "make part-%03d-%s" % (i, name)}, "perm-%s-%d" % (name, i))))
                   for name in ("ada", "bob") for i in range(500)]
        wire.rewrite(self.team.lead_inbox, wire.stringify(entries))
        b.do("await page.waitForFunction(() => document.title.startsWith('(1000)'), null, { timeout: %d })" % (90000 * PATIENCE))
        self.assertEqual(b.do("return await page.locator('li.request').count()"), 1000)
        b.do("await page.getByPlaceholder('Filter').fill('part-417 bob')")
        b.do("await page.waitForFunction(() => document.querySelectorAll('li.request').length === 1)")
        self.approve()
        wait_for("one less", lambda: len(self.daemon.ask("pending")["requests"]) == 999)
        self.assertEqual(b.do("return said"), [])

    def test_restarts_of_the_daemon_and_of_the_page_are_told_and_survived(self):
        b = self.browser
        self.open()
        worker = self.start_worker(self.team, "ada")
        request = self.ask(worker)
        b.sees("make deploy")
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
        self.approve()
        self.assertEqual(self.answer(worker, request["request_id"])["event"], "ran")

    def test_what_another_site_can_do_is_nothing(self):
        b = self.browser
        self.open()
        self.ask(self.start_worker(self.team, "ada"))
        b.sees("make deploy")
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


class Pictures(ProcessTest):
    """The page as a person has it before him, in INBOX_POLLER_SHOTS: looked at, and one of them stands in the README."""

    def setUp(self):
        super().setUp()
        self.team = self.make_team("web-shop", ("ada", "bob", "carl", "dora", "emil"))
        self.start_daemon(self.team, "\n[limits]\npending_per_worker = 1000\n")
        self.page = Page(self)
        self.browser = Browser(self)
        self.browser.do("await page.goto('%s'); await page.locator('nav').waitFor()" % self.page.link)

    def size(self, width, height):
        self.browser.do("await page.setViewportSize({ width: %d, height: %d })" % (width, height))

    def write(self, sender, payload):
        self.team.say(sender, wire.stringify(payload))

    def ask(self, worker, tool, tool_input, description):
        request = wire.permission_request(worker, tool, tool_input, description=description)
        self.write(worker, request)
        return self.pending_id(request["request_id"])

    def shots(self, name):
        for scheme in ("light", "dark"):
            self.browser.do("await page.emulateMedia({ colorScheme: '%s' })" % scheme)
            self.assertEqual(self.browser.do("return await axe()"), [])
            self.browser.shot(name + ("-dark" if scheme == "dark" else ""))
        self.browser.do("await page.emulateMedia({ colorScheme: 'light' })")

    def fits(self, width):
        self.assertLessEqual(self.browser.do("return await page.evaluate(() => document.documentElement.scrollWidth)"), width)

    def test_the_page_fits_each_screen_in_each_state(self):
        b = self.browser
        b.sees("Nothing is waiting for an answer.")
        for width, height, name in ((1400, 900, "empty"), (390, 844, "empty-phone")):
            self.size(width, height)
            self.fits(width)
            self.shots(name)
        self.size(1400, 900)
        self.daemon.cli("lead", "busy")
        self.write("bob", wire.idle_notification("bob", "available", "the tests of the cart are green"))
        self.write("dora", wire.idle_notification("dora", "failed", "the database does not start"))
        self.team.say("carl", "The checkout is done: 14 files, all tests pass. May I open a pull request?")
        b.sees("May I open a pull request")
        for number, command in enumerate(("git status", "git log -3")):  # which a rule of the team answers, and which none does
            self.write("emil", wire.permission_request("emil", "Bash", {"command": command}, "perm-by-rule-%d" % number))
        b.sees("git log -3")
        self.daemon.answer("approve", self.pending_id("perm-by-rule-1")["request_id"], by="carol")
        b.do("await page.getByText('Put away 1').click(); await page.locator('li.request').waitFor({ state: 'detached' })")
        self.ask("ada", "Bash", {"command": "git status && npm run build && npm publish --tag next"}, "Publish the release candidate")
        b.sees("npm publish")
        b.do("await page.locator('button.yes[aria-disabled=false]').first().waitFor()")
        self.shots("one")
        b.do("await page.locator('button.row').first().click(); await page.locator('.more').waitFor()")
        b.shot("one-details")
        self.ask("carl", "Edit", {"file_path": "/work/src/limits.ts", "old_string": "export const most = 10;", "new_string": "export const most = 100;"}, "")
        self.write("bob", wire.sandbox_request("bob", "web-shop", "registry.npmjs.org"))
        self.write("emil", wire.plan_request("emil", "web-shop", "# Payment by invoice\n\n1. A table of invoices\n2. A job that reminds after 14 days\n3. Tests for both"))
        self.daemon.cli("lead", "idle")
        self.take()
        self.daemon.cli("lead", "busy")
        b.do("await page.locator('.team p.bad').waitFor({ state: 'detached' })")
        b.do("await page.locator('li.request').nth(3).waitFor(); await page.mouse.move(0, 0); await page.keyboard.press('j')")
        b.do("await page.waitForFunction(() => document.querySelectorAll('li.request:not(.over) button.yes[aria-disabled=false]').length >= 3)")
        b.do("await page.locator('.told.unseen').waitFor({ state: 'attached' })")
        for width, height, name in ((1400, 900, "several"), (1200, 800, "picture"), (820, 1180, "tablet"), (390, 844, "phone")):
            self.size(width, height)
            self.fits(width)
            b.do("await page.waitForFunction(() => document.querySelector('li.request button.yes[aria-disabled=false]'))")
            self.shots(name)
        self.size(1400, 900)
        for key, name in (("d", "deny"), ("?", "keys")):
            b.do("await page.keyboard.press('%s'); await page.locator('dialog[open]').waitFor()" % key)
            self.shots(name)
            b.do("await page.keyboard.press('Escape'); await page.locator('dialog[open]').waitFor({ state: 'detached' })")
        self.team.say("carl", "I wait for your word.")
        self.daemon.cli("lead", "offline")
        b.sees("chat is kept")
        self.shots("lead-gone")
        entries = [wire.entry(name, wire.stringify(wire.permission_request(name, "Bash", {"command": "npm test -- --shard %d/60" % (i + 1)}, "perm-%s-%d" % (name, i))))
                   for i in range(60) for name in ("ada", "bob", "carl", "dora", "emil")]
        wire.rewrite(self.team.lead_inbox, wire.stringify(entries))
        b.do("await page.waitForFunction(() => document.querySelectorAll('li.request').length > 300, null, { timeout: %d })" % (90000 * PATIENCE))
        b.do("await page.getByPlaceholder('Filter').fill('shard'); await page.getByLabel('Choose Bash: npm test -- --shard 1/60').first().check()")
        self.shots("many")
        self.size(390, 844)
        self.fits(390)
        self.shots("many-phone")
        self.assertEqual(b.do("return said"), [])


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
