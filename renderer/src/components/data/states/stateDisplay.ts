import type { TablerIcon } from '@tabler/icons-react';

export type Tone = 'good' | 'warn' | 'bad' | 'accent' | 'quiet';

/** How a state is displayed: an icon, a label and a colour, never the colour alone, and an explanation. */
export interface StateDisplay {
  label: string;
  icon: TablerIcon;
  tone: Tone;
  meaning: string;
}
