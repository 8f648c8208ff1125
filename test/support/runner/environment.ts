/** Runs `body` while a variable of this process has another value, and puts the old one back. */
export const withVariable = async (name: string, value: string, body: () => Promise<void>): Promise<void> => {
  const before = process.env[name];
  process.env[name] = value;
  try {
    await body();
  } finally {
    if (before === undefined) delete process.env[name];
    else process.env[name] = before;
  }
};
