import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Readable } from 'node:stream';
import { setImmediate } from 'node:timers/promises';
import type { Request } from 'express';
import { expect, test } from 'vitest';
import { FormParts, readForm, unreadableForm } from '../../server/http/body/multipart.ts';

const FILES = 1_000;
/** More than are received at once, and those that begin in one piece of 16 KiB. */
const MOST_UNENDED = 16 + 16;

/** Receives parts one at a time. */
class SlowParts extends FormParts {
  most = 0;
  read = 0;
  #begun = 0;
  #turn = Promise.resolve();

  receiveField(): void {
    this.fail(new Error('There are no fields.'));
  }

  protected async readFile(_: string | undefined, stream: Readable): Promise<void> {
    this.#begun += 1;
    this.most = Math.max(this.most, this.#begun - this.read);
    const before = this.#turn;
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#turn = promise;
    await before;
    // As a slow disk does, it lets much else happen meanwhile.
    for (let turn = 0; turn < 20; turn += 1) await setImmediate();
    for await (const _chunk of stream);
    this.read += 1;
    resolve();
  }

  end(): Promise<void> {
    return this.received();
  }
}

test('small files of a form wait with the sender, not in memory', async () => {
  const parts = new SlowParts();
  const server = createServer((request, response) => {
    const limits = { files: FILES + 1 };
    const problem = () => {
      throw new Error('There is no limit.');
    };
    void readForm(request as Request, parts, {
      maxBytes: 100_000_000,
      tooLarge: problem,
      tooManyFiles: problem,
      tooManyFields: () => unreadableForm('there are no fields'),
      limits,
    }).then(() => response.end());
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const form = new FormData();
  for (let file = 0; file < FILES; file += 1)
    form.append('files', new Blob(['x'.repeat(2_000)]), `${file}.txt`);
  const { port } = server.address() as AddressInfo;
  expect((await fetch(`http://127.0.0.1:${port}`, { method: 'POST', body: form })).status).toBe(200);
  await parts.end();
  server.close();
  expect(parts.failure).toBeUndefined();
  expect(parts.read).toBe(FILES);
  expect(parts.most).toBeLessThanOrEqual(MOST_UNENDED);
});
