import { fileChange, outcome, study, tag, verdict } from './archiveStates.ts';
import { event, listed, noise, source } from './collectionStates.ts';
import { audit, damage, delivery, job, mark } from './nodeStates.ts';

export type { StateDisplay, Tone } from './stateDisplay.ts';

export const STATES = {
  outcome,
  tag,
  verdict,
  study,
  source,
  event,
  job,
  delivery,
  listed,
  damage,
  audit,
  noise,
  mark,
  fileChange,
};
export type StateKind = keyof typeof STATES;
export type StateValue<Kind extends StateKind> = keyof (typeof STATES)[Kind] & string;
