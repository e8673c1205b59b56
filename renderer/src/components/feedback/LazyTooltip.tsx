import { Tooltip } from '@mantine/core';
import { useDebouncedCallback } from '@mantine/hooks';
import { type FocusEvent, type KeyboardEvent, type PointerEvent, type ReactNode, useState } from 'react';

const OPEN_DELAY_MS = 250;

/** The props that the trigger element must have. */
export interface TooltipTrigger {
  onPointerEnter: (event: PointerEvent<HTMLElement>) => void;
  onPointerLeave: () => void;
  onFocus: (event: FocusEvent<HTMLElement>) => void;
  onBlur: () => void;
  onKeyDown: (event: KeyboardEvent<HTMLElement>) => void;
}

export interface LazyTooltipProps {
  label: ReactNode;
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
  const openLater = useDebouncedCallback((element: HTMLElement) => setTarget(element), OPEN_DELAY_MS);
  const close = () => {
    openLater.cancel();
    setTarget(undefined);
  };
  const trigger: TooltipTrigger = {
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
