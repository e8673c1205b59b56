import { Button, Popover } from '@mantine/core';
import { IconPlus } from '@tabler/icons-react';
import type { CaseSummary } from '../../../../../shared/findings/case.ts';
import classes from './Findings.module.css';

const LONGEST_TITLE = 28;

export interface CaseMenuProps {
  cases: readonly CaseSummary[];
  /** Called with a case, or with undefined for a new one. */
  onChoose: (chosen: CaseSummary | undefined) => void;
}

/** The cases that an item can be added to, in a popover. */
export function CaseMenu({ cases, onChoose }: CaseMenuProps) {
  const look = { variant: 'subtle', size: 'xs', fullWidth: true, justify: 'start' } as const;
  return (
    <Popover.Dropdown aria-label="Cases" p={4}>
      <ul className={classes.cases}>
        {cases.map((each) => (
          <li key={each.id}>
            <Button {...look} onClick={() => onChoose(each)}>
              {shortened(each.title)}
            </Button>
          </li>
        ))}
      </ul>
      <Button {...look} leftSection={<IconPlus size={14} aria-hidden />} onClick={() => onChoose(undefined)}>
        New case
      </Button>
    </Popover.Dropdown>
  );
}

/** A title that fits into a button. */
export function shortened(title: string): string {
  return title.length > LONGEST_TITLE ? `${title.slice(0, LONGEST_TITLE - 1).trimEnd()}…` : title;
}
