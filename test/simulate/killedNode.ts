import { openNode } from '../../server/node.ts';
import { SimulatedClock } from './clock.ts';
import { Dice } from './dice.ts';

/*
 * A node in a process of its own, which is to be killed. It does nothing by itself but what a request asks for.
 */
const { dataFolder, packBytes, now, seed } = JSON.parse(process.env.STRONGROOM_SIMULATED_NODE ?? '{}') as {
  dataFolder: string;
  packBytes: number;
  now: number;
  seed: number;
};
const ids = new Dice(seed);
const nothing = () => {};
const { url, tokenFile } = await openNode({
  dataFolder,
  packBytes,
  port: 0,
  collect: false,
  audit: false,
  copy: false,
  prove: false,
  follow: false,
  derive: false,
  clock: new SimulatedClock(now),
  random: (count) => ids.bytes(count),
  log: { info: nothing, warn: nothing, error: nothing },
  networkPause: async () => null,
  batteryLow: async () => false,
  discovery: { addresses: [] },
});
process.stdout.write(`${JSON.stringify({ url, tokenFile })}\n`);
