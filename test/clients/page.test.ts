import { readdirSync, readFileSync } from 'node:fs';
import { expect } from 'chai';
import { exampleFile } from '../support/examples/examples.js';
import { startPage } from './page.js';

// `npm run clients` types all that is on the page. Here are its parts that take seconds.

describe('the page about clients', () => {
  let page: Awaited<ReturnType<typeof startPage>>;
  before(async () => {
    page = await startPage();
  });
  after(() => page.stop());

  it('shows every example of a client, its commands in a frame of their own', () => {
    const programs = page.listings.filter(({ program }) => program !== null);
    expect(programs.map(({ name }) => name)).to.have.members(readdirSync(exampleFile('clients')));
    for (const { name, commands, program } of programs) {
      const example = readFileSync(exampleFile(`clients/${name}`), 'utf8');
      const heads = [...example.matchAll(/^(?:#|\/\/) \$ (.*)$/gm)].map(([, command]) => command);
      expect(commands, name).to.have.length(heads.length).above(0);
      expect(program, name).not.to.match(/^(#|\/\/) \$/m);
      expect(String(program).split('\n').length, name).to.equal(example.split('\n').length - heads.length);
      expect(`${commands.join('\n')}${program}`, name).not.to.include('127.0.0.1:8080');
    }
  });

  for (const name of ['openapi-fetch.ts', 'verify.go', 'verify.java', 'verify.rb', 'verify.php', 'verify.cs'])
    it(`has commands and a program that do what it says: ${name}`, async function () {
      this.timeout(180_000);
      const listing = page.listings.find((each) => each.name === name);
      if (listing === undefined) throw new Error(`The page has no ${name}.`);
      const reason = await page.skippedFor(listing);
      if (reason === null) return;
      if (this.test !== undefined) this.test.title += ` (${reason})`;
      this.skip();
    });
});
