import { once } from 'node:events';
import { createServer, type Server } from 'node:net';
import { afterEach, describe, expect, test } from 'vitest';
import type { MachineAddress } from '../../../server/http/security/addresses.ts';
import { Listeners } from '../../../server/http/security/listeners.ts';
import { createLog } from '../../../server/runtime/log.ts';
import { ManualClock } from '../../support/manualClock.ts';

/** Linux responds on all of 127.0.0.0/8, so these simulate addresses that networks assign and remove. `vitest.config.ts` leaves this file out elsewhere. */
const HOME = { address: '127.0.0.2', interface: 'home' };
const OFFICE = { address: '127.0.0.3', interface: 'office' };

const opened: Listeners[] = [];
const blockers: Server[] = [];

afterEach(async () => {
  for (const listeners of opened.splice(0)) await listeners.close();
  for (const blocker of blockers.splice(0)) blocker.close();
});

async function openListeners(addresses: MachineAddress[]) {
  const clock = new ManualClock();
  const listeners = new Listeners({
    host: '127.0.0.1',
    port: 0,
    clock,
    log: createLog('silent'),
    addresses: () => addresses,
  });
  opened.push(listeners);
  const url = await listeners.open((_request, response) => void response.end('here'));
  return { listeners, clock, port: Number(new URL(url).port) };
}

async function responds({ address }: MachineAddress, port: number): Promise<boolean> {
  const answer = await fetch(`http://${address}:${port}/`, { headers: { Connection: 'close' } }).catch(
    () => null,
  );
  return answer !== null && (await answer.text()) === 'here';
}

async function block({ address }: MachineAddress, port: number): Promise<Server> {
  const blocker = createServer((socket) => socket.destroy()).listen(port, address);
  blockers.push(blocker);
  await once(blocker, 'listening');
  return blocker;
}

describe('a shared node (contract, section 4)', () => {
  test('follows the machine from one network to another', async () => {
    const addresses = [HOME];
    const { listeners, clock, port } = await openListeners(addresses);
    expect(await responds(HOME, port)).toBe(false);
    await listeners.share();
    expect(await responds(HOME, port)).toBe(true);

    addresses.splice(0, 1, OFFICE);
    await clock.turn(15_000);
    await expect.poll(() => responds(OFFICE, port)).toBe(true);
    expect(await responds(HOME, port)).toBe(false);
    expect(listeners.networkAddresses).toEqual([{ ...OFFICE, url: `http://127.0.0.3:${port}` }]);

    await listeners.unshare();
    expect(await responds(OFFICE, port)).toBe(false);
    expect(listeners.networkAddresses).toEqual([]);
  });

  test('opens all addresses or none when sharing starts', async () => {
    const { listeners, port } = await openListeners([HOME, OFFICE]);
    await block(OFFICE, port);
    await expect(listeners.share()).rejects.toMatchObject({ code: 'port_taken' });
    expect(await responds(HOME, port)).toBe(false);
    expect(listeners.networkAddresses).toEqual([]);
  });

  test('that cannot listen at startup listens as soon as the port is free', async () => {
    const { listeners, clock, port } = await openListeners([HOME]);
    const blocker = await block(HOME, port);
    await listeners.resume();
    expect(listeners.networkAddresses).toEqual([]);
    const closed = once(blocker, 'close');
    blocker.close();
    await closed;
    await clock.turn(15_000);
    await expect.poll(() => responds(HOME, port)).toBe(true);
  });
});
