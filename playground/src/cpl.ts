// The language of protocols for the editor: parser, colours, indentation and folding.

import { foldInside, foldNodeProp, LanguageSupport, LRLanguage } from '@codemirror/language';
import { styleTags, tags as t } from '@lezer/highlight';
import { parser } from './cpl.grammar';

export const cplParser = parser.configure({
  props: [
    styleTags({
      Keyword: t.keyword,
      Contextual: t.keyword,
      TypeWord: t.keyword,
      Constant: t.atom,
      CheckName: t.standard(t.variableName),
      State: t.standard(t.variableName),
      Operation: t.standard(t.variableName),
      'Modality Prefix Infix Quantifier OperatorName': t.modifier,
      'TypeName!': t.typeName,
      'Definition! MessageName!': t.definition(t.variableName),
      Number: t.number,
      'String String/...': t.string,
      Escape: t.escape,
      'LineComment BlockComment': t.comment,
      '"<->" "->" ":=" "<=" ">=" "!=" "<<" ">>" ".." "-" "!" "&" "|" "=" "<" ">" "+" "*" "%" "@"': t.operator,
      'Receiver!': t.name,
      'Colon!': t.punctuation,
    }),
    foldNodeProp.add({ Block: foldInside }),
  ],
});

export const cpl = new LanguageSupport(LRLanguage.define({ name: 'cpl', parser: cplParser, languageData: { commentTokens: { line: '//' } } }));
