/** Whether the long forms of tests are asked for: `npm run nightly` does. */
export const isNightly = process.env['ISOLA_NIGHTLY'] === '1'
