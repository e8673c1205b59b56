import { Button, Group } from '@mantine/core';

export interface DialogButtonsProps {
  /** What the form does: `Create the study`. */
  submit: string;
  isPending: boolean;
  isDisabled?: boolean;
  onCancel: () => void;
}

/** The end of a dialog's form. */
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
