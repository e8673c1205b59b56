import { expect, test } from 'vitest';
import { ROUTE_SPECS, type RouteName } from '../../shared/routes.ts';
import { runHere } from '../support/runHere.ts';
import { COMMAND_COVERAGE, type Coverage, ROUTE_COVERAGE } from './coverage.ts';
import { STEP_NAMES, type StepName } from './steps/steps.ts';

const stepsOf = (coverage: Coverage): readonly string[] => {
  if (typeof coverage === 'object' && 'none' in coverage) return [];
  return typeof coverage === 'string' ? [coverage] : coverage;
};

test('every route names the step of the simulation that covers it, or why none does', () => {
  const routes = Object.keys(ROUTE_SPECS) as RouteName[];
  const forgotten = routes.filter((name) => ROUTE_COVERAGE[name] === undefined);
  expect(forgotten, 'Say in test/simulate/coverage.ts what covers these routes.').toEqual([]);
  expect(Object.keys(ROUTE_COVERAGE).filter((name) => !Object.hasOwn(ROUTE_SPECS, name))).toEqual([]);
});

test('every command does, too', async () => {
  const { stdout } = await runHere(['--help']);
  const commands = [...stdout.matchAll(/^ {2}(\S+) {2}/gm)].map(([, name]) => name);
  expect(commands).toEqual(expect.arrayContaining(['serve', 'export']));
  expect(new Set(Object.keys(COMMAND_COVERAGE))).toEqual(new Set(commands));
});

test('the named steps exist', () => {
  const named = [...Object.values(ROUTE_COVERAGE), ...Object.values(COMMAND_COVERAGE)].flatMap(stepsOf);
  const unknown = named.filter(
    (name) => name !== 'every ten steps' && !STEP_NAMES.includes(name as StepName),
  );
  expect(unknown).toEqual([]);
});
