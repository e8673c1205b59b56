import { Button, Group } from '@mantine/core';

export interface DialogButtonsProps {
  /** The label of the submit button: `Create study`. */
  submit: string;
  isPending: boolean;
  isDisabled?: boolean;
  onCancel: () => void;
}

/** The Cancel and submit buttons of a dialog's form. */
export function DialogButtons({ submit, isPending, isDisabled, onCancel }: DialogButtonsProps) {
  return (
    <Group justify="flex-end" gap="sm">
      <Button variant="default" onClick={onCancel}>
        Cancel
      </Button>
      <Button type="submit" loading={isPending} disabled={isDisabled}>
        {submit}
      </Button>
    </Group>
  );
}
