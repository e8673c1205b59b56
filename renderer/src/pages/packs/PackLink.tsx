import { Link } from 'react-router';
import { useCall } from '../../api/useCall.ts';

/** A pack by its title, as soon as it is known; by its id until then. */
export function PackLink({ id }: { id: string }) {
  const pack = useCall('readPack', { params: { id } });
  return <Link to={`/packs/${id}`}>{pack.data?.title ?? <span className="mono">{id}</span>}</Link>;
}
