import { Collapse, UnstyledButton } from '@mantine/core';
import { IconChevronRight } from '@tabler/icons-react';
import { type ReactNode, useState } from 'react';

interface DisclosureProps {
  title: string;
  /** Whether its fields have values when it is first shown: then it is open. */
  isUsed: boolean;
  isWrong: boolean;
  children: ReactNode;
}

/** Fields of a form that open and close. */
export function Disclosure({ title, isUsed, isWrong, children }: DisclosureProps) {
  const [opened, setOpened] = useState(isUsed);
  const isOpen = opened || isWrong;
  return (
    <>
      <UnstyledButton
        className="line inline gap-2 self-start compact accent"
        aria-expanded={isOpen}
        onClick={() => setOpened(!isOpen)}
      >
        <IconChevronRight size={16} aria-hidden data-open={isOpen || undefined} />
        {title}
      </UnstyledButton>
      <Collapse expanded={isOpen}>{children}</Collapse>
    </>
  );
}
