import { may } from '../../../domain/permissions.js';
import type { OrgContext } from './page.js';
import { paths } from './paths.js';

/** What is below Settings, in the order in which it is shown. */
const tabs = [
  { name: 'Organization', to: paths.settings },
  { name: 'Do not mail', to: paths.doNotMail },
  { name: 'Members', to: paths.members },
] as const;

interface Props {
  readonly context: OrgContext;
  readonly here: (typeof tabs)[number]['name'];
}

/** The heading of a page below Settings, with the way to the others. */
export const SettingsHead = ({ context: { url, org, role }, here }: Props) => (
  <>
    <h1>Settings</h1>
    <nav aria-label="Settings">
      <ul class="filters">
        {tabs
          .filter(({ name }) => name !== 'Members' || may(role, 'members.manage'))
          .map(({ name, to }) => (
            <li>
              <a href={url(to, { org })} {...(name === here && { 'aria-current': 'page' as const })}>
                {name}
              </a>
            </li>
          ))}
      </ul>
    </nav>
  </>
);
