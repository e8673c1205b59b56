import { useState } from 'react';

export interface FirstUse {
  /** True from the first time the pointer or the focus enters. */
  isUsed: boolean;
  /** The props of the element. */
  props: { onPointerEnter: () => void; onFocus: () => void };
}

/** Reports the first use of an element, so that its choices are not requested before. */
export function useFirstUse(): FirstUse {
  const [isUsed, setIsUsed] = useState(false);
  const use = () => setIsUsed(true);
  return { isUsed, props: { onPointerEnter: use, onFocus: use } };
}
