import { Modal } from '@mantine/core';
import { FoundList } from './FoundList.tsx';

/** A dialog with the addresses that wait for the owner, of all sources. */
export function ReviewFound({ opened, onClose }: { opened: boolean; onClose: () => void }) {
  return (
    <Modal opened={opened} onClose={onClose} title="Found addresses" size="xl" centered={false}>
      <FoundList state="waiting" onLeave={onClose} />
    </Modal>
  );
}
