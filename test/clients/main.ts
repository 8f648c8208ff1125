import { startPage } from './page.js';

// Types everything on the page about clients: makes each client, compiles it, and runs its program against a
// service whose responses have a field that the document does not name. With names: those alone. What a
// machine lacks, or can't fetch, is skipped, and a line says so.

const page = await startPage();
const names = process.argv.slice(2);
let failed = 0;

try {
  for (const [index, listing] of page.listings.entries()) {
    if (index > 0 && names.length > 0 && !names.includes(listing.name)) continue;
    const began = performance.now();
    const outcome = await page.skippedFor(listing).then(
      (reason) => (reason === null ? 'passed' : `skipped: ${reason}`),
      (error: unknown) => {
        failed++;
        return `failed: ${String(error).slice(-3_000)}`;
      },
    );
    console.log(`${listing.name}: ${outcome} (${Math.round((performance.now() - began) / 1000)} s)`);
  }
} finally {
  await page.stop();
}
process.exitCode = failed === 0 ? 0 : 1;
