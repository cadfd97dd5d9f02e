/** Numbers, money and detection in other languages. */
import { describe, expect, it } from "vitest";
import { detectLanguage, languageCode } from "./language.ts";
import { normalise } from "./normalise.ts";

describe("read in the language that was found", () => {
  it.each([
    [
      "it",
      "Il totale è 1.234.567 euro.",
      "Il totale è un milione duecentotrentaquattromilacinquecentosessantasette euro.",
    ],
    ["de", "Wir haben 3.456 Stück.", "Wir haben dreitausendvierhundertsechsundfünfzig Stück."],
    ["fr", "Il y en a 71 et 92.", "Il y en a soixante et onze et quatre-vingt-douze."],
    ["ja", "合計は12,300円です。", "合計は一万二千三百円です。"],
    ["de", "Das kostet 27,50 €.", "Das kostet siebenundzwanzig Euro fünfzig."],
    [
      "de",
      "Der Preis ist 123.500 €.",
      "Der Preis ist einhundertdreiundzwanzigtausendfünfhundert Euro.",
    ],
    ["de", "Nur € 0,99.", "Nur neunundneunzig Cent."],
    ["de", "Genau 1.000,00 EUR.", "Genau eintausend Euro."],
    ["de", "Das sind 3,14 Prozent.", "Das sind drei Komma eins vier Prozent."],
    [
      "de",
      "Er wurde 1984 geboren und ist hier.",
      "Er wurde neunzehnhundertvierundachtzig geboren und ist hier.",
    ],
    [
      "de",
      "Wir kommen am 3. Oktober um 15:45 Uhr.",
      "Wir kommen am dritten Oktober um fünfzehn Uhr fünfundvierzig.",
    ],
    ["de", "Es kostet 1 € und nicht mehr.", "Es kostet ein Euro und nicht mehr."],
    ["de", "Das ist 50% mehr.", "Das ist fünfzig Prozent mehr."],
    [
      "fr",
      "Cela coûte 27,50 € avec la taxe.",
      "Cela coûte vingt-sept euros cinquante avec la taxe.",
    ],
    [
      "fr",
      "Il a 1 234 567 livres dans la maison.",
      "Il a un million deux cent trente-quatre mille cinq cent soixante-sept livres dans la maison.",
    ],
    ["fr", "Nous avons 3,5 kilos pour vous.", "Nous avons trois virgule cinq kilos pour vous."],
    ["fr", "C'est la 2e fois.", "C'est la deuxième fois."],
    [
      "es",
      "El precio es de 1.500 euros y no más.",
      "El precio es de mil quinientos euros y no más.",
    ],
    [
      "es",
      "La cuenta es 27,50 € para los dos.",
      "La cuenta es veintisiete euros con cincuenta para los dos.",
    ],
    ["pt", "O preço é 200 euros para você.", "O preço é duzentos euros para você."],
    ["nl", "Het is 25 euro voor jullie.", "Het is vijfentwintig euro voor jullie."],
    ["pl", "To jest 25 i nie więcej.", "To jest dwadzieścia pięć i nie więcej."],
    ["ru", "У меня 25 книг.", "У меня двадцать пять книг."],
    ["ko", "가격은 12,300원입니다.", "가격은 만 이천삼백원입니다."],
    ["zh", "一共12,300元。", "一共一万二千三百元。"],
    ["zh", "2026年3月31日。", "二零二六年三月三十一日。"],
    ["zh", "涨了50%。", "涨了百分之五十。"],
    ["ja", "10:30に始まります。", "十時三十分に始まります。"],
    [
      "de",
      "Das Treffen ist am 03.10.2025, z. B. um 9:05 Uhr.",
      "Das Treffen ist am dritten Oktober zweitausendfünfundzwanzig, zum Beispiel um neun Uhr fünf.",
    ],
    ["ko", "3시 30분에 20명이 만나요.", "세 시 삼십분에 스무 명이 만나요."],
    ["zh", "价格是￥1,234.50，下午3:30。", "价格是一千二百三十四点五零元，下午三点三十分。"],
    ["ja", "電話は03-1234-5678です。", "電話は零三、一二三四、五六七八です。"],
    [
      "fr",
      "Il est 15h30 et le prix est de 1 234,50 €.",
      "Il est quinze heures trente et le prix est de mille deux cent trente-quatre euros cinquante.",
    ],
    [
      "es",
      "El total es 1.234,50 € y son las 15:45.",
      "El total es mil doscientos treinta y cuatro euros con cincuenta y son las quince y cuarenta y cinco.",
    ],
    ["ar", "لدي ٢٥ كتابا.", "لدي خمسة وعشرون كتابا."],
  ])("%s %s", (language, text, spoken) => {
    const result = normalise(text);
    expect(result.language).toBe(language);
    expect(result.spoken).toBe(spoken);
  });

  it("leaves digits alone in languages without number words", () => {
    expect(normalise("ราคา 25 บาท").spoken).toContain("25");
  });

  it("obeys an explicit language", () => {
    expect(normalise("71", { language: "fr" }).spoken).toBe("soixante et onze.");
    expect(normalise("71", { language: "German" }).spoken).toBe("einundsiebzig.");
    expect(normalise("71", { language: "auto" }).spoken).toBe("seventy one.");
    expect(normalise("71", { hint: "it" }).spoken).toBe("settantuno.");
  });
});

describe("detectLanguage", () => {
  it.each([
    ["The weather in London is sunny.", "en"],
    ["Hello", "en"],
    ["Die hard is a film.", "en"],
    ["EST.", "en"],
    ["The mid-1990s, pre-2000, post-9/11", "en"],
    ["See https://de.example.com/und/der for the rest.", "en"],
    ["Guten Abend und willkommen.", "de"],
    ["Bonsoir et bienvenue au journal.", "fr"],
    ["Buenas noches, bienvenidos al noticiero de mañana.", "es"],
    ["Buonasera e benvenuti al telegiornale. Perché no?", "it"],
    ["Boa noite, bem-vindos ao noticiário. São Paulo.", "pt"],
    ["Dobry wieczór, witamy w wiadomościach.", "pl"],
    ["Dobrý večer, vítejte u zpráv. Příliš žluťoučký kůň.", "cs"],
    ["God aften og velkommen til nyhederne. Æble.", "da"],
    ["God kväll och välkommen till nyheterna.", "sv"],
    ["İyi akşamlar, haber bültenine hoş geldiniz.", "tr"],
    ["Jó estét kívánunk, köszöntjük híradónkban. Őszi hűvösség.", "hu"],
    ["Добрый вечер, вы смотрите новости.", "ru"],
    ["Добрий вечір, це новини її країни.", "uk"],
    ["Καλησπέρα σας.", "el"],
    ["مساء الخير، أهلاً بكم.", "ar"],
    ["شب بخیر، به بخش خبری خوش آمدید.", "fa"],
    ["こんばんは、ニュースです。", "ja"],
    ["여러분 안녕하십니까", "ko"],
    ["欢迎关注", "zh"],
    ["今天 update 到 v2.3.1 了", "zh"],
  ])("%s", (text, language) => {
    expect(detectLanguage(text)).toBe(language);
  });

  it("keeps the language of the text before where the text says nothing", () => {
    expect(detectLanguage("OK.", "de")).toBe("de");
    expect(detectLanguage("123", "fr")).toBe("fr");
    expect(detectLanguage("東京", "ja")).toBe("ja");
  });
});

it("languageCode takes what clients send", () => {
  expect(["en-US", "zh_CN", "German", "Auto", "", "xx-", "português"].map(languageCode)).toEqual([
    "en",
    "zh",
    "de",
    undefined,
    undefined,
    undefined,
    undefined,
  ]);
  expect(languageCode(undefined)).toBeUndefined();
});
