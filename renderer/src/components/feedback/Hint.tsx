import { Tooltip } from '@mantine/core';
import { useDebouncedCallback } from '@mantine/hooks';
import { type FocusEvent, type KeyboardEvent, type PointerEvent, type ReactNode, useState } from 'react';

const OPEN_DELAY_MS = 250;

/** What the element that a hint belongs to must bear. */
export interface HintTrigger {
  onPointerEnter: (event: PointerEvent<HTMLElement>) => void;
  onPointerLeave: () => void;
  onFocus: (event: FocusEvent<HTMLElement>) => void;
  onBlur: () => void;
  onKeyDown: (event: KeyboardEvent<HTMLElement>) => void;
}

export interface HintProps {
  label: ReactNode;
  /** In pixels; longer labels are broken into lines. */
  maxWidth?: number;
  children: (trigger: HintTrigger) => ReactNode;
}

/**
 * A tooltip that costs nothing until it is wanted: for what stands in every row of long tables, where a hundred sets of
 * Mantine's own would be made and thrown away with each turn of the wheel. Escape puts it away.
 */
export function Hint({ label, maxWidth, children }: HintProps) {
  const [target, setTarget] = useState<HTMLElement>();
  const openLater = useDebouncedCallback((element: HTMLElement) => setTarget(element), OPEN_DELAY_MS);
  const close = () => {
    openLater.cancel();
    setTarget(undefined);
  };
  const trigger: HintTrigger = {
    onPointerEnter: ({ currentTarget }) => openLater(currentTarget),
    onPointerLeave: close,
    onFocus: ({ currentTarget }) => {
      if (currentTarget.matches(':focus-visible')) setTarget(currentTarget);
    },
    onBlur: close,
    onKeyDown: ({ key }) => {
      if (key === 'Escape') close();
    },
  };
  return (
    <>
      {children(trigger)}
      {target && (
        <Tooltip target={target} opened label={label} multiline={maxWidth !== undefined} maw={maxWidth} />
      )}
    </>
  );
}
