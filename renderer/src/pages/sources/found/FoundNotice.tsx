import { Button } from '@mantine/core';
import { IconLink } from '@tabler/icons-react';
import { useCall } from '../../../api/useCall.ts';
import { countOf } from '../../../format/size.ts';
import outcome from '../CheckOutcome.module.css';

const REFRESH_MS = 15_000;

/** Says how many addresses that followed sources link to wait for the owner. */
export function FoundNotice({ onOpen }: { onOpen: () => void }) {
  const { data } = useCall(
    'listFound',
    { query: { state: 'waiting', limit: 1 } },
    { refetchInterval: REFRESH_MS },
  );
  if (!data || data.total === 0) return null;
  return (
    <div className={outcome.outcome} data-quiet>
      <IconLink size={18} aria-hidden className={outcome.icon} />
      <div className={outcome.words}>
        <p>
          <strong>{countOf(data.total, 'address', 'addresses')} found, waiting for you.</strong> They are
          watched once you approve them.
        </p>
      </div>
      <Button size="xs" variant="default" onClick={onOpen}>
        Review
      </Button>
    </div>
  );
}
