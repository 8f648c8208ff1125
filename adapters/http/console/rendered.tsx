import { readAccount } from '../../../application/organizations/read-accounts.js';
import type { LinesResponse, TextResponse } from '../server/route.js';
import { documentOf, pageHeaders, type Linked, type LinkPreview } from '../web/document.js';
import { RefusedForms, type ShownRefusal } from '../web/form.js';
import { WithLabels } from '../web/labels.js';
import { WithNotice } from '../web/parts.js';
import { pathOfPicture } from '../web/pictures.js';
import { placeOf } from '../web/url.js';
import { WithVisit } from '../web/visit.js';
import type { Admitted } from './admit.js';
import type { ConsoleDeps } from './deps.js';
import { Frame, type Here } from './frame.js';
import { noticeOf } from './notice.js';
import type { Context, Page, Shown } from './page.js';

/** The organization as the frame names it. */
export const placeIn = async (deps: ConsoleDeps, { org, role }: Admitted): Promise<Here> => ({
  org,
  role,
  name: (await readAccount(deps, org)).name,
});

export const drawn = async (
  context: Context,
  here: Here | null,
  page: Page,
  refused: ShownRefusal | null,
  status = 200,
): Promise<TextResponse> => {
  const { within, body: content, ...about } = await page.show(context, refused);
  const body = <WithNotice value={noticeOf(context.query('done'))}>{content}</WithNotice>;
  const place = within === undefined ? here : await placeIn(context.deps, within);
  if (refused === null) return shown(context, place, { ...about, body }, status);
  const again = <RefusedForms value={refused}>{body}</RefusedForms>;
  return shownAfterForm(context, place, { ...about, body: again }, status);
};

/** The page after a refused form: its texts name fields by their labels. */
export const shownAfterForm = (
  context: Context,
  here: Here | null,
  { title, body }: Shown,
  status = 200,
): TextResponse => {
  const labelled = (
    <WithLabels>
      <WithVisit value={context}>{body}</WithVisit>
    </WithLabels>
  );
  return shown(context, here, { title, body: labelled }, status);
};

const htmlType = 'text/html; charset=utf-8';

const linkPreviewOf = (
  { origin, self, url }: Context,
  title: string,
  { description, front }: Linked,
): LinkPreview => ({
  title,
  description,
  url: `${origin}${self}`,
  image: front === null ? null : `${origin}${url(pathOfPicture(front, 'preview'))}`,
});

/** Renders a page in the frame of an organization or of none. */
export const shown = (
  context: Context,
  here: Here | null,
  { title, body, linked }: Shown,
  status = 200,
): TextResponse => ({
  status,
  type: htmlType,
  text: documentOf({
    prefix: placeOf(context.deps.baseUrl()).prefix,
    title: `${title} · Handwritten Cards`,
    body: (
      <WithVisit value={context}>
        <Frame context={context} here={here}>
          {body}
        </Frame>
      </WithVisit>
    ),
    style: 'console.css',
    modules: ['pages.js'],
    linked: linked && linkPreviewOf(context, title, linked),
  }),
  headers: headersOf(context),
});

const headersOf = ({ origin }: Context): Readonly<Record<string, string>> => ({
  ...pageHeaders({ posts: true }),
  ...(origin.startsWith('https:') && { 'strict-transport-security': 'max-age=31536000' }),
});

/** A file with the headers of pages. */
export const withPageHeaders = (context: Context, file: LinesResponse): LinesResponse => ({
  ...file,
  headers: { ...headersOf(context), ...file.headers },
});

export const redirect = (to: string, cookies: readonly string[] = []): TextResponse => ({
  status: 303,
  type: htmlType,
  text: '',
  headers: { location: to, 'set-cookie': cookies },
});

/** Asks for a pause before the next try. */
export const waiting = (response: TextResponse, seconds: number): TextResponse => ({
  ...response,
  headers: { ...response.headers, 'retry-after': `${seconds}` },
});
