import { describe, expect, it } from 'vitest'
import type { SearchDocument } from '#contracts/search.ts'
import { cpuMs } from '../../fakes/cpu-ms.ts'
import { createSearchIndex } from '../../../src/runtime/catalog/search/search-index.ts'
import { createTermReader, termsOf } from '../../../src/runtime/catalog/search/words.ts'

const document = (id: string, description = '', parameters = ''): SearchDocument => {
  const [owner = '', name = ''] = id.split('__')
  return { id, name, owner, description, parameters }
}
const index = createSearchIndex([
  document('kv__set', 'Store a value under a key.', 'key value'),
  document('kv__get', 'Read the value of a key.', 'key'),
  document('github__searchIssues', 'Find issues in a repository.', 'repository name query'),
  document('http__fetch', 'Download a page from the web.', 'url address of the page'),
  document('code-reviewer__run', 'Reviews source code for bugs.', 'task context'),
])
const ids = (...queries: readonly string[]): readonly string[] =>
  index.search(queries, 10).map(({ id }) => id)

describe('the search index', () => {
  it('finds a document when only one word of the query is in it', () => {
    expect(ids('colossal page of unknown provenance')[0]).toBe('http__fetch')
  })

  it('splits camelCase, snake_case and kebab-case in documents and in queries', () => {
    expect(ids('search issues')[0]).toBe('github__searchIssues')
    expect(ids('search_issues')[0]).toBe('github__searchIssues')
    expect(ids('code reviewer')[0]).toBe('code-reviewer__run')
    expect(ids('codeReviewer')[0]).toBe('code-reviewer__run')
  })

  it('finds other forms of a word by its stem', () => {
    expect(ids('reviewing bug')[0]).toBe('code-reviewer__run')
  })

  it('weighs a name above a description and a description above parameters', () => {
    const weighed = createSearchIndex([
      { id: 'p', name: 'x', owner: 'y', description: 'y', parameters: 'weather' },
      { id: 'd', name: 'x', owner: 'y', description: 'weather', parameters: 'y' },
      { id: 'n', name: 'weather', owner: 'y', description: 'x', parameters: 'y' },
    ])
    expect(weighed.search(['weather'], 10).map(({ id }) => id)).toEqual(['n', 'd', 'p'])
  })

  it('ignores stop words in a query, unless there is nothing else', () => {
    expect(ids('what is the')).toEqual(ids('the'))
    expect(ids('please could you help me')).toEqual([])
    expect(index.search(['the page'], 10)[0]?.matched).toEqual(['page'])
  })

  it('merges several queries round-robin, each document once', () => {
    expect(ids('download page', 'review code', 'page').slice(0, 2)).toEqual([
      'http__fetch',
      'code-reviewer__run',
    ])
    expect(new Set(ids('key', 'value', 'key value')).size).toBe(
      ids('key', 'value', 'key value').length,
    )
  })

  it('keeps the order of the documents on equal scores', () => {
    const twins = createSearchIndex(
      ['b__x', 'a__x', 'c__x'].map((id) => document(id, 'same words')),
    )
    expect(twins.search(['same words'], 10).map(({ id }) => id)).toEqual(['b__x', 'a__x', 'c__x'])
  })

  it('returns at most as many hits as asked for', () => {
    expect(index.search(['key value'], 1)).toHaveLength(1)
    expect(index.search(['key value'], 0)).toEqual([])
  })

  it('answers with nothing for an empty index, no queries and empty text', () => {
    expect(createSearchIndex([]).search(['anything'], 5)).toEqual([])
    expect(index.search([], 5)).toEqual([])
    expect(index.search(['', '   ', '!?'], 5)).toEqual([])
  })

  it('never throws, whatever the text of the query', () => {
    const hostile = [
      'a AND NOT (b',
      '"',
      'NEAR(',
      'name : x',
      '*',
      '\\',
      '__proto__ constructor',
      '\ud800',
      '工具 検索',
      'a'.repeat(1e6),
    ]
    for (const query of hostile) expect(() => index.search([query], 5)).not.toThrow()
    expect(() =>
      index.search(
        Array.from({ length: 1_000 }, () => 'key'),
        5,
      ),
    ).not.toThrow()
  })

  it('finds words of scripts that are written without blanks', () => {
    const chinese = createSearchIndex([
      document('a__x', '获取网页内容'),
      document('b__x', '生成图表'),
    ])
    expect(chinese.search(['图表'], 5)[0]?.id).toBe('b__x')
  })

  // Scripts without blanks beside Latin letters, digits, long marks and particles: as text, then what is looked for.
  const found = [
    ['社内Wi-Fiのパスワードは毎月変わる', '社内', 'Wi-Fi', 'パスワード', '毎月'],
    ['ユーザー名はtanakaです', 'ユーザー', 'tanaka', 'ユーザー名'],
    ['請用Slack通知團隊', 'Slack', '通知', '團隊'],
    ['下载PDF文件到桌面', 'PDF', '文件', '下载', '桌面'],
    ['在3号会议室开会', '会议室', '开会', '3'],
    ['ﾊﾝｶｸｶﾅのメモ', 'ハンカクカナ', 'メモ'],
    ['ฉันใช้GitHubทุกวัน', 'GitHub', 'ทุกวัน', 'ฉัน', 'ใช้'],
    ['ประชุมทีมพรุ่งนี้', 'ประชุม', 'พรุ่งนี้', 'ทีม'],
    ['ຂ້ອຍມັກກິນເຂົ້າ', 'ກິນ', 'ເຂົ້າ'],
    ['ខ្ញុំចូលចិត្តញ៉ាំបាយ', 'ចូលចិត្ត', 'បាយ'],
    ['ကျွန်တော်ကော်ဖီကြိုက်တယ်', 'ကော်ဖီ', 'ကြိုက်'],
    ['회의록을 Notion에 올렸다', '회의록', 'Notion', '회의록이'],
    ['서울에서 책을 샀다', '책', '서울', '책은', '서울은'],
    ['비밀번호가GitHub와같다', 'GitHub', '비밀번호'],
    ['VPNサーバに接続', 'VPN', '接続', 'サーバ'],
    ['подключите Wi-Fi와 같이', 'Wi-Fi', 'подключите', '같이'],
    ['राम को चाय पसंद है', 'चाय', 'राम'],
    ['Feedback: 👍 from Ada', '👍'],
    ['Family 👩‍👩‍👧 photo', '👩‍👩‍👧', '👧'],
    ['Ship to 🇦🇹', '🇦🇹'],
    ['Loved it ❤️', '❤', '❤️'],
    ['Thumbs 👍🏽', '👍'],
    ['Rated ★★★', '★'],
  ] as const
  it.each(found.flatMap(([text, ...queries]) => queries.map((query) => [query, text] as const)))(
    'a search for %s finds nothing, though it is written beside other words: %s',
    (query, text) => {
      const texts = createSearchIndex([
        document('a__x', 'Something else in plain words'),
        document('b__x', text),
      ])
      expect(texts.search([query], 5).map(({ id }) => id)).toEqual(['b__x'])
    },
  )

  it.each([
    ['パン', 'ハンカチ'],
    ['バス', 'パスワード'],
    ['दीपक', 'दोपक'],
    ['กิน', 'กัน'],
    ['👍', 'Feedback: 👎'],
    ['🇦🇹', 'Ship to 🇦🇺'],
    ['통신', '신통'],
  ])('does not take %s for what is in %s: its signs are letters', (query, text) => {
    expect(createSearchIndex([document('a__x', text)]).search([query], 5)).toEqual([])
  })

  it.each([
    ['東京タワーに登る', '京都に登る', '東京'],
    ['通知を受け取る', '知り合いを通る', '通知'],
    ['学生证明', '生活学证', '学生'],
    ['เมื่อวานฝนตก', 'นานแล้วตกงาน', 'ฝนตก'],
    ['한국어 수업', '국어 시간', '한국어'],
  ])(
    'ranks what has the letters side by side above what has them apart: %s',
    (right, wrong, query) => {
      const texts = createSearchIndex([document('w__x', wrong), document('r__x', right)])
      expect(texts.search([query], 5)[0]?.id).toBe('r__x')
    },
  )

  it('answers a long query over many documents in linear time', () => {
    const many = createSearchIndex(
      Array.from({ length: 2_000 }, (_, n) => document(`p${n}__t${n}`, `does thing ${n}`)),
    )
    const startedAt = cpuMs()
    many.search(['thing '.repeat(200_000)], 10)
    expect(cpuMs() - startedAt).toBeLessThan(500)
  })
})

describe('a reader of many texts', () => {
  it('reads each as it is read alone, whatever it is written in', () => {
    const termsIn = createTermReader()
    const texts = [
      'getIssueById HTTPServerError get_issue-by id',
      'Größe résumé Ångström ﬁle',
      '检索 tools 123abc',
      '',
      'constructor toString __proto__',
      'VPN接続のパスワード เขากำลังกิน 끝말잇기를 👍🏽',
    ]
    for (const text of [...texts, ...texts]) expect(termsIn(text)).toEqual(termsOf(text))
  })
})
