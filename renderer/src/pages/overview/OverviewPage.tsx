import { Page } from '../../components/Page.tsx';

/** What the node holds and whether it is well. */
export default function OverviewPage() {
  return <Page title="Overview">{null}</Page>;
}
