import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import type { ArchivedDraw, PageCapture, PageList } from '../../shared/collection/page.ts';
import type { WatchedSource } from '../../shared/collection/source.ts';
import { closeTestNodes, temporaryFolder } from '../support/node.ts';
import { isInstalled, requireThat } from '../support/requirements.ts';
import { Namespace } from './namespace.ts';

/** A real node in a network of its own, where packets to every address are captured. */
const PUBLIC = '203.0.113.5';
const run = promisify(execFile);

let namespace: Namespace | undefined;
let whyNot = '';

beforeAll(async () => {
  if (!(await isInstalled('tcpdump'))) {
    whyNot = 'Install tcpdump to run this test.';
    return;
  }
  const opened = await Namespace.openOrSayWhyNot();
  if (typeof opened === 'string') {
    whyNot = opened;
    return;
  }
  namespace = opened;
  await namespace.serve(PUBLIC);
  await namespace.catchEverything();
  await namespace.startNode(join(await temporaryFolder(), 'data'));
  await namespace.ask('PATCH', '/manage/settings', { per_host_pause_ms: 0, retry_delays_seconds: [] });
});
afterAll(async () => {
  // Its browser ends with it, and removes its profile.
  await namespace?.endNode();
  await namespace?.close();
  await closeTestNodes();
});
beforeEach(({ skip }) => {
  requireThat(namespace !== undefined, whyNot, skip);
});

function open(): Namespace {
  if (!namespace) throw new Error(whyNot);
  return namespace;
}

/** Tries every way out that a page has, to this machine, to others by number and by name. */
const ESCAPES = `<p id="p">text</p>
  <link rel="preconnect" href="https://198.51.100.7"><link rel="dns-prefetch" href="//dns.example">
  <link rel="prefetch" href="https://198.51.100.7/prefetch"><link rel="prerender" href="https://198.51.100.7/prerender">
  <img src="https://198.51.100.7/image"><iframe src="https://198.51.100.7/frame"></iframe>
  <a id="a" href="#" ping="https://198.51.100.7/ping">x</a>
  <video src="https://198.51.100.7/video"></video><object data="https://198.51.100.7/object"></object>
  <script type="speculationrules">{"prefetch":[{"source":"list","urls":["https://198.51.100.7/rules"]}],"prerender":[{"source":"list","urls":["/rules"]}]}</script>
  <script>
    const quietly = (work) => { try { Promise.resolve(work()).catch(() => {}) } catch {} };
    a.click();
    for (const host of ['198.51.100.7', '127.0.0.1:9', '${PUBLIC}', 'name.example', '[2001:db8::1]']) {
      quietly(() => new WebSocket('wss://' + host + '/'));
      quietly(() => new WebSocket('ws://' + host + '/'));
      quietly(() => fetch('http://' + host + '/fetch'));
      quietly(() => navigator.sendBeacon('http://' + host + '/beacon', 'x'));
      quietly(() => new EventSource('http://' + host + '/events'));
      quietly(() => new WebTransport('https://' + host + ':4433/'));
      quietly(() => { const c = new RTCPeerConnection({ iceServers: [{ urls: 'stun:' + host }] }); c.createDataChannel('x'); return c.createOffer().then((o) => c.setLocalDescription(o)); });
    }
    const frame = document.createElement('iframe');
    document.body.append(frame);
    quietly(() => { const c = new frame.contentWindow.RTCPeerConnection({ iceServers: [{ urls: 'stun:198.51.100.7' }] }); c.createDataChannel('x'); return c.createOffer().then((o) => c.setLocalDescription(o)); });
    new Worker(URL.createObjectURL(new Blob(["fetch('https://198.51.100.7/worker').catch(() => {}); new WebSocket('ws://198.51.100.7/'); try { new WebTransport('https://198.51.100.7:4433/') } catch {}"])));
    quietly(() => navigator.serviceWorker.register('/worker.js'));
  </script>`;

/** Returns the packets that some work makes on all interfaces, except those between the node and who asks it. */
async function packetsDuring(work: () => Promise<void>): Promise<string[]> {
  const capture = open().capturePackets(`not port ${open().nodePort}`);
  await capture.started;
  await work();
  return capture.stop();
}

test('capturing a page that tries every way out sends packets to its own site only', async () => {
  open().script({ '/': { headers: { 'Content-Type': 'text/html' }, body: ESCAPES } });
  // Names that the node has to look up would be asked for by packets of its own.
  await open().resolve({ 'site.example': PUBLIC, 'name.example': PUBLIC, 'dns.example': PUBLIC });
  const { id } = await open().ask<WatchedSource>('POST', '/manage/sources', {
    url: 'http://site.example/',
    capture: 'page',
  });
  const packets = await packetsDuring(async () => {
    await open().ask('POST', '/manage/collections?wait=true', { sources: [id] });
  });
  const { items } = await open().ask<PageList>('GET', `/archive/pages?source=${id}`);
  expect(items).toHaveLength(1);
  // The node asks the site, and tries the addresses that parts name: those are web requests like those of any check.
  const others = packets.filter((packet) => !packet.includes(PUBLIC));
  expect(others.filter((packet) => /UDP|STUN|quic|\.53:|\.4433/i.test(packet))).toEqual([]);
  expect(others.filter((packet) => packet.includes('127.0.0.1.9:'))).toEqual([]);
});

test('drawing a page from the archive sends no packet at all', async () => {
  const { items } = await open().ask<PageList>('GET', '/archive/pages');
  const [page] = items;
  const packets = await packetsDuring(async () => {
    const draw = await open().ask<ArchivedDraw>('POST', `/archive/pages/${page?.id}/draw`, {});
    expect(draw.text).toBe((await open().ask<PageCapture>('GET', `/archive/pages/${page?.id}`)).text);
  });
  expect(packets).toEqual([]);
});

test('the capture does see packets', async () => {
  const packets = await packetsDuring(async () => {
    await run('ip', [
      'netns',
      'exec',
      open().name,
      'bash',
      '-c',
      'echo x > /dev/udp/198.51.100.7/53 || true',
    ]);
  });
  expect(packets.join('\n')).toContain('198.51.100.7');
});
