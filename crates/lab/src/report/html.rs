//! Results as one page: no network, no script, light and dark, wide and narrow.
//!
//! Whatever comes from a file is text and nothing else, see [`escape`].

use std::fmt::Write;

use super::layout::Table;
use super::picture::Picture;
use super::picture::canvas::{STYLE, escape};

/// What is said of one file of results.
#[derive(Default)]
pub struct Section {
    /// What it is.
    pub title: String,
    /// Where and how it was measured, a paragraph each.
    pub lead: Vec<String>,
    /// What may have disturbed it.
    pub warnings: Vec<String>,
    /// What it comes to, a paragraph each.
    pub conclusion: Vec<String>,
    /// Pictures.
    pub pictures: Vec<Picture>,
    /// Tables.
    pub tables: Vec<Table>,
    /// What their columns mean.
    pub legend: Vec<String>,
    /// The machine and the settings, by name.
    pub facts: Vec<(String, String)>,
}

const PAGE_STYLE: &str = "\
:root{color-scheme:light dark;--ink:#1c1f23;--dim:#5a5f66;--ground:#fff;--line:#dfe2e6;--soft:#f5f6f8;--link:#0a58a8;--warn:#8a4b00;--warnbg:#fff4e0}
@media (prefers-color-scheme:dark){:root{--ink:#e8e8e8;--dim:#a8adb3;--ground:#15181c;--line:#30353b;--soft:#1d2126;--link:#7cc4ff;--warn:#ffcf87;--warnbg:#33270f}}
*{box-sizing:border-box}
body{margin:0 auto;padding:1.2rem clamp(.8rem,3vw,2.5rem) 4rem;max-width:1560px;font:16px/1.5 system-ui,sans-serif;color:var(--ink);background:var(--ground)}
h1{font-size:1.7rem;line-height:1.2;margin:.4rem 0}
h2{font-size:1.35rem;margin:2.6rem 0 .4rem;padding-top:1rem;border-top:1px solid var(--line)}
h3{font-size:1.05rem;margin:1.6rem 0 .4rem}
p{margin:.35rem 0;max-width:75ch;overflow-wrap:anywhere}
a{color:var(--link)}
.dim{color:var(--dim);font-size:.9rem}
.says{font-size:1.08rem;border-left:3px solid var(--link);padding:.1rem 0 .1rem .9rem;margin:1rem 0}
.warn{color:var(--warn);background:var(--warnbg);border-radius:6px;padding:.5rem .8rem;margin:.8rem 0;max-width:80ch;font-size:.92rem}
.pictures{display:grid;grid-template-columns:repeat(auto-fill,minmax(min(100%,420px),1fr));gap:1rem;margin:1rem 0}
figure{margin:0;border:1px solid var(--line);border-radius:8px;padding:.6rem;min-width:0}
figure svg{display:block;width:100%;height:auto}
figcaption{color:var(--dim);font-size:.85rem;line-height:1.4;margin-top:.4rem;overflow-wrap:anywhere}
.wide{overflow-x:auto;-webkit-overflow-scrolling:touch}
table{border-collapse:collapse;font-variant-numeric:tabular-nums;font-size:.88rem;white-space:nowrap}
th,td{padding:.22rem .7rem;text-align:right;border-bottom:1px solid var(--line)}
th{color:var(--dim);font-weight:600}
th:first-child,td:first-child{text-align:left;padding-left:0}
tbody tr:hover{background:var(--soft)}
.facts td{text-align:left;white-space:normal;overflow-wrap:anywhere}
summary{cursor:pointer;font-weight:600;margin:1rem 0 .3rem}
nav ul{padding-left:1.1rem;margin:.4rem 0}
@media print{body{max-width:none}figure{break-inside:avoid}}
";

/// The page of these sections.
pub fn page(title: &str, sections: &[Section]) -> String {
    let title = escape(title);
    let mut html = format!(
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">\n\
         <title>{title}</title>\n<style>\n{PAGE_STYLE}{STYLE}\n</style>\n</head>\n<body>\n<h1>{title}</h1>\n"
    );
    if sections.len() > 1 {
        html += "<nav><ul>\n";
        for (at, section) in sections.iter().enumerate() {
            let _ = writeln!(html, "<li><a href=\"#s{at}\">{}</a></li>", escape(&section.title));
        }
        html += "</ul></nav>\n";
    }
    for (at, section) in sections.iter().enumerate() {
        let _ = writeln!(html, "<section id=\"s{at}\">\n<h2>{}</h2>", escape(&section.title));
        push_section(&mut html, section);
        html += "</section>\n";
    }
    html + "</body>\n</html>\n"
}

fn push_section(html: &mut String, section: &Section) {
    paragraphs(html, "p class=\"dim\"", "p", &section.lead);
    paragraphs(html, "div class=\"warn\"", "div", &section.warnings);
    paragraphs(html, "p class=\"says\"", "p", &section.conclusion);
    if !section.pictures.is_empty() {
        html.push_str("<div class=\"pictures\">\n");
        for picture in &section.pictures {
            let caption = escape(&picture.caption);
            let _ = writeln!(
                html,
                "<figure>{}<figcaption>{caption}</figcaption></figure>",
                picture.inside()
            );
        }
        html.push_str("</div>\n");
    }
    if !section.tables.is_empty() {
        html.push_str("<details open>\n<summary>Tables</summary>\n");
        section.tables.iter().for_each(|table| push_table(html, table));
        paragraphs(html, "p class=\"dim\"", "p", &section.legend);
        html.push_str("</details>\n");
    }
    if !section.facts.is_empty() {
        html.push_str(
            "<details>\n<summary>Machine and settings</summary>\n<table class=\"facts\">\n",
        );
        for (name, value) in &section.facts {
            let _ = writeln!(html, "<tr><td>{}</td><td>{}</td></tr>", escape(name), escape(value));
        }
        html.push_str("</table>\n</details>\n");
    }
}

fn paragraphs(html: &mut String, open: &str, close: &str, all: &[String]) {
    for text in all {
        let _ = writeln!(html, "<{open}>{}</{close}>", escape(text));
    }
}

fn push_table(html: &mut String, table: &Table) {
    let _ =
        write!(html, "<h3>{}</h3>\n<div class=\"wide\"><table>\n<thead><tr>", escape(&table.title));
    for head in &table.head {
        let _ = write!(html, "<th scope=\"col\">{}</th>", escape(head));
    }
    html.push_str("</tr></thead>\n<tbody>\n");
    for row in &table.rows {
        html.push_str("<tr>");
        for cell in row {
            let _ = write!(html, "<td>{}</td>", escape(cell));
        }
        html.push_str("</tr>\n");
    }
    html.push_str("</tbody></table></div>\n");
    paragraphs(html, "p class=\"dim\"", "p", &table.notes);
}
