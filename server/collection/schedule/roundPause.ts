import type { RoundPause } from '../../../shared/collection/collection.ts';
import type { Settings } from '../../../shared/node/settings.ts';
import type { Clock } from '../../../shared/values/clock.ts';
import { type NetworkPause, readBatteryLow, readNetworkPause } from '../../runtime/machineState.ts';

/** The machine is asked at most this often, because a program is run for it. */
const ASK_AGAIN_MS = 60_000;

interface PauseServices {
  clock: Clock;
  settings: () => Pick<Settings, 'collect_on_low_battery' | 'collect_when_metered'>;
  networkPause?: (() => Promise<NetworkPause>) | undefined;
  batteryLow?: (() => Promise<boolean>) | undefined;
}

/** Returns the function that says why no round may start by itself. The machine is asked only for what the owner did not allow. */
export function roundPauses({
  clock,
  settings,
  networkPause = readNetworkPause,
  batteryLow = readBatteryLow,
}: PauseServices): () => Promise<RoundPause> {
  const isLow = remembered(clock, batteryLow);
  const network = remembered(clock, networkPause);
  return async () => {
    const { collect_on_low_battery, collect_when_metered } = settings();
    if (!collect_on_low_battery && (await isLow())) return 'battery_low';
    if (!collect_when_metered && (await network()) === 'metered') return 'metered';
    return null;
  };
}

function remembered<Value>(clock: Clock, ask: () => Promise<Value>): () => Promise<Value> {
  let last: { at: number; value: Value } | undefined;
  return async () => {
    const age = clock.now() - (last?.at ?? Number.NEGATIVE_INFINITY);
    if (!last || age < 0 || age >= ASK_AGAIN_MS) last = { at: clock.now(), value: await ask() };
    return last.value;
  };
}
