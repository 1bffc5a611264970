// What holds up a call that asks whoever is outside.

const kernelAsks = 'test/unit/kernel/asks.test.ts'
const asking = 'test/conformance/asking.test.ts'

const of = (file, tests, entries) =>
  entries.map((entry) => ({ file, tests, project: 'unit', ...entry }))

export const askingSwitches = [
  ...of(
    'src/contracts/pause.ts',
    [kernelAsks],
    [
      {
        name: 'answer-to-its-question',
        what: 'T21: an answer holds for exactly the question it was given to',
        find: 'JSON.stringify(given.asked) === JSON.stringify(asked)',
        replace: 'true',
      },
    ],
  ),
  ...of(
    'src/kernel/call.ts',
    [kernelAsks],
    [
      {
        name: 'spent-before-asking',
        what: 'E1: what a call spent before it asked is on its bill',
        find: '...asking, ',
        replace: '',
      },
      {
        name: 'asking-is-a-call',
        what: 'E1: each time that a call runs and asks is a tool call of its run',
        find: '(call.pause.asks && !entry?.spends ? 1 : 0)',
        replace: '0',
      },
    ],
  ),
  ...of(
    'src/sessions/waiting/pauses.ts',
    ['test/unit/sessions/asks.test.ts'],
    [
      {
        name: 'answers-to-asked-keys',
        what: 'T21: nothing is answered that was not asked',
        find: '!isByKey || unknown !== undefined',
        replace: '!isByKey',
      },
      {
        name: 'answers-to-what-is-asked',
        what: 'T21: an answer holds for exactly what was shown, whatever is asked under its key by now',
        find: 'checkAsked(decision.asksHash, asksHashOf(pause, sha256))',
        replace: '',
      },
      {
        name: 'answers-size',
        what: 'E6: the answers of a call are limited, all of them together',
        find: 'if (JSON.stringify(answers).length > maxOutputChars) throw tooLarge()',
        replace: '',
      },
    ],
  ),
  ...of(
    'src/plugins/capabilities/plugin-request.ts',
    [asking],
    [
      {
        name: 'request-grant',
        what: 'I27: a plugin asks nobody without the grant for it',
        find: 'if (denied) return refuse(`request: ${denied.kind}`)()',
        replace: '',
      },
    ],
  ),
  ...of(
    'src/contracts/asks.ts',
    [asking],
    [
      {
        name: 'forged-answer',
        what: 'T21: a call takes no answer that was given to another question',
        find: 'if (JSON.stringify(before) !== JSON.stringify(asked)) return { asked }',
        replace: '',
      },
      {
        name: 'answer-fits',
        what: 'T21: an answer that is not what was asked for does not reach the plugin',
        find: 'if (problem === undefined) return',
        replace: 'if (problem !== 0) return',
      },
    ],
  ),
  ...of(
    'src/plugins/sandbox/plugin-parts.ts',
    ['test/unit/plugins/loading/in-process-host.test.ts'],
    [
      {
        name: 'undeclared-functions',
        what: 'P14: what a module has and its manifest does not say is refused, of every kind',
        find: 'if (extra.length > 0)',
        replace: 'if (false)',
      },
    ],
  ),
]
