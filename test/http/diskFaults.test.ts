import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import express from 'express';
import { afterEach, expect, test } from 'vitest';
import { handleErrors } from '../../server/http/problems.ts';
import { createLog } from '../../server/runtime/log.ts';

let server: Server | undefined;
afterEach(async () => {
  const closing = server;
  server = undefined;
  if (closing) await new Promise((resolve) => closing.close(resolve));
});

const fault = (code: string) => Object.assign(new Error(`${code}: reported by the system`), { code });

test.each([
  ['EIO', 503, 'storage_failed'],
  ['ENOSPC', 507, 'disk_nearly_full'],
  ['EDQUOT', 507, 'disk_nearly_full'],
  ['EBADF', 500, 'internal_error'],
] as const)('a disk that says %s is answered with %i %s', async (code, status, problem) => {
  const app = express();
  app.get('/', () => {
    throw fault(code);
  });
  app.use(handleErrors(createLog('silent')));
  const opened = createServer(app);
  server = opened;
  await new Promise<void>((resolve) => opened.listen(0, '127.0.0.1', resolve));
  const answer = await fetch(`http://127.0.0.1:${(opened.address() as AddressInfo).port}/`);
  expect(answer.status).toBe(status);
  const document = (await answer.json()) as { code: string; detail: string };
  expect(document.code).toBe(problem);
  expect(document.detail).not.toContain('reported by the system');
});
