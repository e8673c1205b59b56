import { Problem } from '../../shared/problems.ts';

/** The refusal of work that would begin, or has not ended, while the node closes. */
export function shuttingDown(): Problem {
  return new Problem('shutting_down', 'The node is shutting down. Try again after it has restarted.');
}
