// Scenarios that fail, each with its reason. A scenario that passes all the same must be taken out of here.
const pushed =
  'asks the client on its own initiative, over a stream that only a server with a session keeps open; /mcp has none (docs/mcp.md)'

/** By revision: scenario → why. */
export const expected = {
  '2026-07-28': {},
  '2025-11-25': {
    'tools-call-sampling': pushed,
    'tools-call-elicitation': pushed,
    'elicitation-sep1034-defaults': pushed,
    'elicitation-sep1330-enums': pushed,
  },
}
