import { eventually } from '../time/eventually.js';
import { createHash } from 'node:crypto';
import { request } from 'node:http';
import type { RunningService } from './service.js';

/** A page as a visitor gets it. */
export interface Page {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
  /** Where a redirect leads; null for any other response. */
  readonly location: string | null;
}

type Texts = Readonly<Record<string, string>>;

/** A form that a test names gets an id of the shape that pages give. */
const withFormId = (fields: Texts): Texts => {
  const { form } = fields;
  if (form === undefined || form === '' || /^[\w-]{43}$/.test(form)) return fields;
  return { ...fields, form: createHash('sha256').update(form).digest('base64url') };
};

/** As fetch, from an address of this machine: each in 127.0.0.0/8 is one. */
const fetchFrom = (
  localAddress: string,
  url: string,
  { method = 'GET', headers, body }: { method?: string; headers: Texts; body?: string | undefined },
): Promise<Page> =>
  new Promise((done, fail) => {
    const sent = request(url, { method, headers, localAddress }, (response) => {
      let text = '';
      response.setEncoding('utf8');
      response.on('data', (chunk: string) => (text += chunk));
      response.on('error', fail);
      response.on('end', () => {
        const got = new Headers();
        for (const [name, values = []] of Object.entries(response.headersDistinct))
          for (const value of values) got.append(name, value);
        done({ status: response.statusCode ?? 0, headers: got, text, location: got.get('location') });
      });
    });
    sent.on('error', fail);
    sent.end(body);
  });

/** Somebody with a browser: keeps the cookies, and sends the forms of pages as browsers do. */
export class Visitor {
  readonly #base: string;
  readonly #from: string | null;
  readonly #cookies = new Map<string, string>();

  /** `from`: an address of this machine. */
  constructor({ baseUrl }: Pick<RunningService, 'baseUrl'>, from: string | null = null) {
    this.#base = baseUrl;
    this.#from = from;
  }

  /** The cookie of the session; null without one. */
  get cookie(): string | null {
    const value = this.#cookies.get('session');
    return value === undefined ? null : `session=${value}`;
  }

  set cookie(pair: string | null) {
    this.#keep(pair ?? 'session=');
  }

  get(path: string, headers: Texts = {}): Promise<Page> {
    return this.#fetch(path, { headers });
  }

  /** Sends a form with these fields, whether a page shows it or not. */
  post(path: string, fields: Texts, headers: Texts = { 'sec-fetch-site': 'same-origin' }): Promise<Page> {
    return this.#fetch(path, {
      method: 'POST',
      headers: { 'content-type': 'application/x-www-form-urlencoded', ...headers },
      body: new URLSearchParams(withFormId(fields)).toString(),
    });
  }

  /** Sends the form of a page, filled in. Throws if the page shows no such form. */
  async submit(path: string, action: string, fields: Texts = {}): Promise<Page> {
    return this.post(path, { ...(await this.form(path, action)), ...fields });
  }

  /** The hidden fields of a page's form. */
  async form(path: string, action: string): Promise<Texts> {
    const { text, status } = await this.get(path);
    const shown = text
      .split('<form ')
      .find((part) => part.includes(`name="do" value="${action}"`))
      ?.split('</form>')[0];
    if (shown === undefined) throw new Error(`${path} (${status}) has no form ${action}`);
    const hidden = [...shown.matchAll(/<input type="hidden" name="(\w+)" value="([^"]*)"/g)];
    return Object.fromEntries(
      hidden.map(([, name = '', value = '']) => [name, value.replaceAll('&amp;', '&')]),
    );
  }

  /** Sends a form with a file. */
  upload(path: string, fields: Texts, file: Blob, headers: Texts = { 'sec-fetch-site': 'same-origin' }) {
    const form = new FormData();
    for (const [name, value] of Object.entries(withFormId(fields))) form.set(name, value);
    form.set('file', file, 'contacts.csv');
    return this.#fetch(path, { method: 'POST', headers, body: form });
  }

  async #fetch(
    path: string,
    sent: { method?: string; body?: string | FormData; headers: Texts },
  ): Promise<Page> {
    const cookie = [...this.#cookies].map((pair) => pair.join('=')).join('; ');
    const headers = { ...sent.headers, ...(cookie !== '' && { cookie }) };
    const url = `${this.#base}${path}`;
    const page =
      this.#from === null || typeof sent.body === 'object'
        ? await this.#ask(url, { ...sent, headers })
        : await fetchFrom(this.#from, url, { ...sent, body: sent.body, headers });
    for (const set of page.headers.getSetCookie()) this.#keep(set.split(';')[0] ?? '');
    return page;
  }

  async #ask(url: string, sent: RequestInit): Promise<Page> {
    const response = await fetch(url, { ...sent, redirect: 'manual' });
    const { status, headers } = response;
    return { status, headers, text: await response.text(), location: headers.get('location') };
  }

  #keep(pair: string): void {
    const [name = '', value = ''] = pair.split(/=(.*)/);
    if (value === '') this.#cookies.delete(name);
    else this.#cookies.set(name, value);
  }
}

export const pathOf = (url: unknown): string => new URL(String(url)).pathname;

/** Somebody who has entered as the operator. */
export const operatorOf = async (service: Pick<RunningService, 'operator' | 'baseUrl'>): Promise<Visitor> => {
  const { body } = await service.operator('/operator/v1/console-links', { method: 'POST' });
  const visitor = new Visitor(service);
  await visitor.submit(pathOf(body['url']), 'enter');
  return visitor;
};

export const password = 'correct horse battery staple';

/** Somebody who was invited into an organization and has joined. */
export const memberOf = async (
  service: Pick<RunningService, 'baseUrl' | 'operator'>,
  org: string,
  role: string,
  email = `${role}-${org.slice(0, 8)}@example.com`,
  name = `A ${role}`,
): Promise<Visitor> => {
  const { body } = await service.operator(`/operator/v1/organizations/${org}/members`, {
    body: { email, name, role },
  });
  const visitor = new Visitor(service);
  // A busy machine asks to try again in some seconds.
  const join = () => visitor.submit(pathOf(body['url']), 'join', { name, password });
  await eventually(async () => (await join()).status !== 503, { within: 60_000, what: 'a place to join' });
  return visitor;
};
