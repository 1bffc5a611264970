import { expect, it } from 'vitest'
import { stemOf } from '../../../src/runtime/catalog/search/stemmer.ts'

// The examples of Porter's paper, step by step, as the whole algorithm stems them.
const examples: Readonly<Record<string, string>> = {
  caresses: 'caress', ponies: 'poni', ties: 'ti', caress: 'caress', cats: 'cat',
  feed: 'feed', agreed: 'agre', plastered: 'plaster', bled: 'bled', motoring: 'motor', sing: 'sing',
  conflated: 'conflat', troubled: 'troubl', sized: 'size', hopping: 'hop', tanned: 'tan', falling: 'fall',
  hissing: 'hiss', fizzed: 'fizz', failing: 'fail', filing: 'file', happy: 'happi', sky: 'sky',
  relational: 'relat', conditional: 'condit', rational: 'ration', valenci: 'valenc', hesitanci: 'hesit',
  digitizer: 'digit', conformabli: 'conform', radicalli: 'radic', differentli: 'differ', vileli: 'vile',
  analogousli: 'analog', vietnamization: 'vietnam', predication: 'predic', operator: 'oper', feudalism: 'feudal',
  decisiveness: 'decis', hopefulness: 'hope', callousness: 'callous', formaliti: 'formal', sensitiviti: 'sensit',
  sensibiliti: 'sensibl', triplicate: 'triplic', formative: 'form', formalize: 'formal', electriciti: 'electr',
  electrical: 'electr', hopeful: 'hope', goodness: 'good', revival: 'reviv', allowance: 'allow',
  inference: 'infer', airliner: 'airlin', gyroscopic: 'gyroscop', adjustable: 'adjust', defensible: 'defens',
  irritant: 'irrit', replacement: 'replac', adjustment: 'adjust', dependent: 'depend', adoption: 'adopt',
  homologou: 'homolog', communism: 'commun', activate: 'activ', angulariti: 'angular', homologous: 'homolog',
  effective: 'effect', bowdlerize: 'bowdler', probate: 'probat', rate: 'rate', cease: 'ceas',
  controll: 'control', roll: 'roll', generalizations: 'gener', oscillators: 'oscil', syzygy: 'syzygi',
} // prettier-ignore

it.each(Object.entries(examples))('stems %s to %s', (word, stem) => {
  expect(stemOf(word)).toBe(stem)
})

it('leaves short words, numbers and other scripts as they are', () => {
  for (const word of ['', 'is', 'as', '2024', 'größe', 'данные']) expect(stemOf(word)).toBe(word)
})

it('stems forms of one word alike', () => {
  expect(
    new Set(['connect', 'connected', 'connecting', 'connection', 'connections'].map(stemOf)).size,
  ).toBe(1)
})
