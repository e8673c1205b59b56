import { once } from 'node:events';
import { PassThrough } from 'node:stream';
import { expect, test } from 'vitest';
import { PipeConnection, type ProtocolEvent, TOO_LONG } from '../../server/browser/protocol.ts';

const LONG = 'x'.repeat(33 * 1_048_576);

function openConnection() {
  const input = new PassThrough();
  const failures: unknown[] = [];
  const connection = new PipeConnection(new PassThrough(), input, (error) => failures.push(error));
  const events: ProtocolEvent[] = [];
  connection.listen((event) => events.push(event));
  /** Sends a message in pieces, as a pipe does. */
  const receive = async (message: string) => {
    for (let at = 0; at < message.length; at += 65_536)
      if (!input.write(message.slice(at, at + 65_536))) await once(input, 'drain');
    input.write('\0');
  };
  return { connection, events, failures, receive, input };
}

test('an event that is too long is dropped, and the connection goes on for the other pages', async () => {
  const { events, failures, receive, input } = openConnection();
  const event = (text: string) =>
    JSON.stringify({ method: 'Runtime.consoleAPICalled', params: { text }, sessionId: 'S1' });
  await receive(event(LONG));
  await receive(event('short'));
  input.end();
  await once(input, 'end');
  expect(events).toEqual([
    { method: 'Runtime.consoleAPICalled', params: { text: 'short' }, sessionId: 'S1' },
  ]);
  expect(failures).toEqual([]);
});

test('of a request that is too long the gate learns enough to refuse it', async () => {
  const { events, receive, input } = openConnection();
  await receive(
    JSON.stringify({
      method: 'Fetch.requestPaused',
      params: {
        requestId: 'interception-job-7.0',
        request: { url: 'https://site.example/upload', method: 'POST', headers: {}, postData: LONG },
        frameId: 'F1',
        resourceType: 'Fetch',
        networkId: 'N1',
      },
      sessionId: 'S1',
    }),
  );
  input.end();
  await once(input, 'end');
  expect(events).toEqual([
    {
      method: TOO_LONG,
      params: {
        requestId: 'interception-job-7.0',
        url: 'https://site.example/upload',
        method: 'POST',
        type: 'fetch',
      },
      sessionId: 'S1',
    },
  ]);
});

test('an answer may be as long as a large picture; a longer one fails its command alone', async () => {
  const { connection, receive } = openConnection();
  const [picture, endless, other] = ['Page.captureScreenshot', 'Runtime.evaluate', 'Page.enable'].map(
    (method) => connection.send(method),
  );
  await receive(JSON.stringify({ id: 1, result: { data: LONG }, sessionId: 'S1' }));
  await expect(picture).resolves.toEqual({ data: LONG });
  const failing = expect(endless).rejects.toThrow('Runtime.evaluate: The answer is too long.');
  await receive(`{"id":2,"result":{"value":"${LONG.repeat(8)}"}}`);
  await failing;
  await receive(JSON.stringify({ id: 3, result: {} }));
  await expect(other).resolves.toEqual({});
});
