import { expect, test } from 'vitest';
import { serve } from '../../server/cli/commands/serve.ts';
import { errorMessage } from '../../server/cli/main.ts';

test.each(['ENOSPC', 'EDQUOT'])('a command says what to do after %s', (code) => {
  const error = Object.assign(new Error(`${code}: reported by the system`), { code });
  expect(errorMessage(error, serve)).toBe('The disk is full: free some space and try again.');
});
