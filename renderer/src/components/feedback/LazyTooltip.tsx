import { Tooltip } from '@mantine/core';
import { type FocusEvent, type KeyboardEvent, type PointerEvent, type ReactNode, useState } from 'react';

const OPEN_DELAY_MS = 250;

/** Only one tooltip is about to open at a time, so all share its timer. */
let opening: ReturnType<typeof setTimeout> | undefined;

function openLater(open: () => void): void {
  clearTimeout(opening);
  opening = setTimeout(open, OPEN_DELAY_MS);
}

/** The props that the trigger element must have. */
export interface TooltipTrigger {
  onPointerEnter: (event: PointerEvent<HTMLElement>) => void;
  onPointerLeave: () => void;
  onFocus: (event: FocusEvent<HTMLElement>) => void;
  onBlur: () => void;
  onKeyDown: (event: KeyboardEvent<HTMLElement>) => void;
}

export interface LazyTooltipProps {
  /** A function is called when the tooltip is shown. */
  label: ReactNode | (() => ReactNode);
  /** In pixels. Longer labels wrap. */
  maxWidth?: number;
  children: (trigger: TooltipTrigger) => ReactNode;
}

/**
 * A tooltip that creates no DOM until it is shown. Long tables have one per cell, and mounting a hundred
 * Mantine tooltips on every scroll is slow. Escape closes it.
 */
export function LazyTooltip({ label, maxWidth, children }: LazyTooltipProps) {
  const [target, setTarget] = useState<HTMLElement>();
  const close = () => {
    clearTimeout(opening);
    setTarget(undefined);
  };
  const trigger: TooltipTrigger = {
    onPointerEnter: ({ currentTarget }) => openLater(() => setTarget(currentTarget)),
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
        <Tooltip
          target={target}
          opened
          label={typeof label === 'function' ? label() : label}
          multiline={maxWidth !== undefined}
          maw={maxWidth}
        />
      )}
    </>
  );
}
