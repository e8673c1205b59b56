import type { LabelFilter } from '../../../../shared/collection/event.ts';

/** The filter by label, in a user's words. */
export const QUALITY_OPTIONS = [
  { value: 'none', label: 'No warning' },
  { value: 'any', label: 'Any warning' },
  { value: 'bot_wall', label: 'Bot checks' },
  { value: 'rate_limit', label: 'Rate limits' },
  { value: 'error_page', label: 'Error pages' },
  { value: 'script_shell', label: 'Made by scripts' },
] satisfies { value: LabelFilter; label: string }[];
