import { describe, expect, test } from 'vitest';
import { type MachineReader, readBatteryLow } from '../../server/runtime/machineState.ts';

const SUPPLIES = '/sys/class/power_supply';

/** A machine on which nothing can be read but this. */
const machine = (platform: NodeJS.Platform, more: Partial<MachineReader>): MachineReader => ({
  platform,
  interfaces: () => ({}),
  list: () => Promise.reject(new Error('ENOENT')),
  read: () => Promise.reject(new Error('ENOENT')),
  run: () => Promise.reject(new Error('ENOENT')),
  ...more,
});

/** A Linux machine with these power supplies. */
const linux = (supplies: Record<string, Record<string, string>>): MachineReader =>
  machine('linux', {
    list: async () => Object.keys(supplies),
    read: async (file) => {
      const [name = '', value = ''] = file.slice(SUPPLIES.length + 1).split(/[/\\]/);
      const text = supplies[name]?.[value];
      if (text === undefined) throw new Error('ENOENT');
      return `${text}\n`;
    },
  });

const battery = (capacity: string, status = 'Discharging') => ({ type: 'Battery', status, capacity });

describe('the battery is low', () => {
  test.each([
    ['below 20 %', { AC: { type: 'Mains', online: '0' }, BAT0: battery('19') }, true],
    ['not at 20 %', { BAT0: battery('20') }, false],
    ['not while it is charged', { AC: { type: 'Mains' }, BAT0: battery('5', 'Charging') }, false],
    ['not if it is that of a mouse', { hid: { ...battery('5'), scope: 'Device' } }, false],
    ['not if its charge is not known', { BAT0: { type: 'Battery', status: 'Discharging' } }, false],
    ['not without one', {}, false],
  ])('on Linux: %s', async (_when, supplies, isLow) => {
    expect(await readBatteryLow(linux(supplies as Record<string, Record<string, string>>))).toBe(isLow);
  });

  test.each([
    ["Now drawing from 'Battery Power'\n -InternalBattery-0 (id=1)\t12%; discharging; 0:40", true],
    ["Now drawing from 'Battery Power'\n -InternalBattery-0 (id=1)\t88%; discharging; 5:40", false],
    ["Now drawing from 'AC Power'\n -InternalBattery-0 (id=1)\t12%; charging; 1:40", false],
    ["Now drawing from 'AC Power'\n", false],
  ])('on macOS: %j', async (text, isLow) => {
    expect(await readBatteryLow(machine('darwin', { run: async () => text }))).toBe(isLow);
  });

  test.each([
    ['1 12\r\n', true],
    ['2 12\r\n', false],
    ['5 3\r\n1 80\r\n', true],
    ['1 80\r\n', false],
    ['', false],
  ])('on Windows: %j', async (text, isLow) => {
    expect(await readBatteryLow(machine('win32', { run: async () => text }))).toBe(isLow);
  });

  test.each(['linux', 'darwin', 'win32', 'freebsd'] as const)(
    'not if nothing can be read (%s)',
    async (platform) => {
      expect(await readBatteryLow(machine(platform, {}))).toBe(false);
    },
  );
});
