import { Button, type ButtonProps } from '@mantine/core';

export interface ItemButtonProps extends Pick<ButtonProps, 'disabled' | 'loading'> {
  label: string;
  /** The name of the item. */
  of: string;
  onClick: () => void;
}

/** A button of an item in a list. For screen readers, its name says which item. */
export function ItemButton({ label, of, ...props }: ItemButtonProps) {
  return (
    <Button variant="default" size="compact-sm" aria-label={`${label}: ${of}`} {...props}>
      {label}
    </Button>
  );
}

/** The button of an item in a list that asks whether to remove it. */
export function RemoveItemButton({ of, onClick }: Pick<ItemButtonProps, 'of' | 'onClick'>) {
  return (
    <Button variant="subtle" color="red" size="compact-sm" aria-label={`Remove: ${of}`} onClick={onClick}>
      Remove
    </Button>
  );
}
