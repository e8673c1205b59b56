import { uptime } from 'node:os';
import { type Clock, systemClock } from '../../shared/values/clock.ts';

/** The system clock of a program that runs for long, during which the time may be set. */
export const machineClock: Clock = { ...systemClock, uptime: () => uptime() * 1_000 };
