import { PROBLEMS, type ProblemCode } from '../../../shared/problems.ts';
import type { RouteSpec } from '../../../shared/routes/route.ts';

const EVERYWHERE: readonly ProblemCode[] = [
  'invalid_request',
  'unknown_parameter',
  'not_shared',
  'unknown_host',
  'tls_required',
  'head_too_large',
  'internal_error',
  'database_damaged',
];
const CHANGING: readonly ProblemCode[] = [
  'foreign_origin',
  'storage_failed',
  'archive_read_only',
  'disk_nearly_full',
  'shutting_down',
];
const CONTRIBUTING: readonly ProblemCode[] = ['invitation_required', 'rate_limited', 'data_cap_reached'];
const WITH_A_BODY: readonly ProblemCode[] = [
  'incomplete_body',
  'body_timeout',
  'body_too_large',
  'unsupported_media_type',
];
const WITH_JSON: readonly ProblemCode[] = ['invalid_json', 'invalid_field', 'unknown_field', 'not_canonical'];
const WITH_RANGES: readonly ProblemCode[] = ['range_not_satisfiable', 'precondition_failed', 'blob_damaged'];

/** Returns the codes of all problems that a route can respond with: its own, and those common to routes of its kind. */
function possibleProblems(spec: RouteSpec): ProblemCode[] {
  const { body, query, access, method, path, responses } = spec;
  const parameters = Object.keys(query?.shape ?? {});
  const codes = new Set<ProblemCode>([...spec.problems, ...EVERYWHERE]);
  const add = (when: boolean, more: readonly ProblemCode[]) => {
    if (when) for (const code of more) codes.add(code);
  };
  add(access !== 'open', ['owner_required']);
  add(path.includes('{'), ['invalid_path']);
  add(parameters.includes('limit'), ['invalid_limit']);
  add(parameters.includes('offset'), ['invalid_offset']);
  add(parameters.length > 0, ['invalid_parameter']);
  add(method !== 'GET', CHANGING);
  add(access === 'contribute', CONTRIBUTING);
  add(body !== undefined, WITH_A_BODY);
  add(body?.kind === 'json' || body?.json !== undefined, WITH_JSON);
  add(206 in responses, WITH_RANGES);
  return [...codes];
}

/** Returns the same codes grouped by HTTP status, in ascending order. */
export function problemsByStatus(spec: RouteSpec): Map<number, ProblemCode[]> {
  const sorted = possibleProblems(spec).sort(
    (left, right) => PROBLEMS[left].status - PROBLEMS[right].status || (left < right ? -1 : 1),
  );
  return Map.groupBy(sorted, (code) => PROBLEMS[code].status);
}
