//! Given names that are usual somewhere. A hint among others, so it need not be complete.

const GIVEN: &str = "\
Aaron Abdul Al Abdullah Abigail Adam Adèle Adrian Adriana Agnes Agnieszka Ahmed Aisha Akira Alain Alan Albert Alberto \
Alejandra Alejandro Aleksandr Alessandro Alessia Alex Alexander Alexandra Alexandre Alexandru Alexis Alfred Ali Alice \
Alicia Alina Alison Allison Alma Álvaro Amanda Amara Amelia Amélie Amina Amir Amy Ana Anaïs Anastasia Anders Andrea \
Andreas Andreea Andrei Andrés Andrew Andrzej Angela Anita Anja Anna Anne Annika Anthony Antje Anton Antoine Antonio \
António Aoife Arjun Arthur Asha Astrid Audrey Barbara Bart Bastian Beata Beatrice Beatriz Ben Benjamin Benoît Bernard \
Bernd Bianca Birgit Björn Bogdan Brandon Brian Bruno Camille Carina Carl Carla Carlos Carmen Caroline Catalina \
Cătălin Catherine Cécile Chantal Charles Charlotte Chiara Chinedu Chloé Christian Christina Christine Christoph \
Christopher Ciara Claire Clara Claudia Claudio Clémence Constantin Cornelia Cristian Cristina Dan Dana Daniel Daniela \
Danielle Dario David Deborah Denis Denise Diana Diego Dieter Dimitri Dominik Dominique Donald Dorothea Dragoş Dylan \
Edith Eduard Ed Eduardo Edward Eileen Elena Eleni Elif Elin Elisa Elisabeth Elise Elizabeth Ella Ellen Elsa Emeka Emil \
Emilia Emily Emma Emmanuel Enrique Enzo Eric Erik Erika Ernst Esther Eugen Eva Evelyn Ewa Fabian Fatima Federica \
Federico Felix Fernanda Fernando Filip Fiona Florence Florian Florin Francesca Francesco Francis Francisco François \
Frank Franz Frauke Freya Frida Friedrich Gabriel Gabriela Gabriele Gareth Gary Geert Georg George Georges Gerard Gerda \
Gerhard Ghiţă Giorgio Giovanni Giulia Giuseppe Gloria Gonzalo Grace Greg Gregor Grzegorz Guillaume Gustav Hanna Hannah \
Hans Harald Harry Hassan Heather Heidi Heike Heinrich Helen Helena Hélène Helga Henri Henrik Henry Hiroshi Holger Horst \
Hugo Ian Ibrahim Ignacio Igor Ilse Ines Inga Ingrid Ioana Ion Irena Irene Irina Isaac Isabel Isabella Isabelle Ivan \
Ivana Jack Jacob Jacqueline Jacques Jakob Jakub James Jamie Jan Jana Jane Janet Janina Jason Javier Jean Jeanne Jeff \
Jennifer Jeremy Jessica Jo Jesús Joachim Joan Joana João Joanna Jochen Joe Joel Johan Johann Johanna Johannes John Jonas \
Jonathan Jordi Jorge José Josef Joseph Joshua Josefine Juan Juana Judith Julia Julian Julie Julien Juliette Jürgen Justin \
Justyna Kai Kamal Karen Karin Karl Karolina Kasper Katarina Katarzyna Kate Katharina Katherine Kathleen Katja Kay Keiko \
Keith Kenneth Kenji Kerstin Kevin Kim Kirsten Klaus Konrad Kristin Krzysztof Kwame Laila Lara Lars Laura Laure Laurence \
Laurent Layla Lea Léa Leila Lena Leo León Leon Leonie Leonardo Liam Lidia Lilly Lina Linda Lisa Lorenzo Louis Louise Luca \
Lucas Lucia Lucía Lucie Ludwig Luigi Luis Luisa Luise Lukas Luke Lydia Maarten Maciej Madeleine Magda Magdalena Małgorzata \
Manfred Manon Manuel Manuela Mara Marc Marcel Marco Marcos Marcus Margaret Margarita Margot Maria María Marian Mariana \
Marie Marina Mario Marion Marius Mark Markus Marlene Marta Martha Martin Martina Martine Mary Mateo Mateusz Mathias \
Mathieu Mathilde Matteo Matthew Matthias Maurice Max Maximilian Maya Megan Mehmet Mei Melanie Melissa Mercedes Meryem Mia \
Michael Michaela Michal Michał Michel Michele Michelle Miguel Mihaela Mihai Mike Mikhail Milan Mircea Miriam Mohamed \
Mohammed Mónica Monica Monika Morten Muhammad Nadia Nadine Naomi Natalia Natalie Nathalie Nathan Neha Ngozi Nicholas \
Nick Nicola Nicolae Nicolas Nicole Niels Niklas Nikolai Nils Nina Noah Noémie Nora Norbert Nuno Ola Olaf Oleg Olga Oliver \
Olivia Olivier Olu Omar Oscar Oskar Otto Pablo Paola Paolo Pascal Patricia Patrick Paul Paula Pauline Pavel Pedro Peter \
Petra Philip Philipp Philippe Pia Pierre Pieter Piotr Priya Rachel Radu Rafael Rahul Ralf Ramón Raphael Raquel Raúl Ravi \
Rebecca Regina Renate René Ricardo Richard Rita Robert Roberta Roberto Robin Roger Roland Rolf Roman Ronald Rosa Rosemary \
Roxana Ruben Rui Ruth Ryan Sabine Sabrina Salma Sam Samantha Samir Samuel Sandra Sanjay Sara Sarah Saskia Scott Sean \
Sebastian Sergei Sergio Shirin Siegfried Sigrid Silke Silvia Simon Simona Simone Sina Sofia Sofie Sonia Sonja Sophia \
Sophie Stefan Stefania Stefano Steffen Stella Stephan Stéphane Stephanie Stephen Steven Susan Susana Susanne Sven Svetlana \
Sylvia Sylvie Tamara Tanja Tatiana Teresa Thabo Theo Theodor Theresa Thiago Thomas Thorsten Tiago Tim Timo Tina Tobias Tom \
Tomáš Tomasz Torsten Tracy Tristan Tudor Udo Ulrich Ulrike Ursula Uwe Valentina Valérie Vanessa Vera Verena Veronica \
Veronika Victor Victoria Viktor Vincent Vincenzo Viola Virginia Vlad Vladimir Walter Wanda Wei Werner Wiebke Wilhelm \
William Wojciech Wolfgang Xavier Xiomara Yasmin Yuki Yusuf Yvonne Zoe Zoé Zofia Александр Алексей Анна Андрей Дмитрий \
Екатерина Елена Иван Мария Михаил Наталья Николай Ольга Сергей Татьяна Юлия Ștefan Ștefania Ionuț Mădălina Răzvan \
Пётр Павел Игорь Владимир Алексей Светлана Ирина Дарья Анастасия Виктор Максим \
Γιώργος Γιώργο Γιάννης Δημήτρης Κώστας Νίκος Παναγιώτης Μαρία Ελένη Άννα Κατερίνα Σοφία Βασίλης Χρήστος \
Ahmet Ali Ayşe Burak Can Cem Deniz Emine Emre Esra Fatma Gülşen Hakan Hatice Hüseyin İbrahim İsmail Kemal Merve Murat \
Mustafa Osman Ömer Özlem Selin Serkan Zeynep \
Nguyễn Trần Lê Phạm Huỳnh Phan Vũ Võ Đặng Bùi Ngô Łukasz Marek Paweł Żaneta Agata Kamil Marcin Ewelina";

pub(super) fn is_given(word: &str) -> bool {
    // Jean-Luc is as usual as Jean.
    let first = word.split('-').next().unwrap_or(word);
    GIVEN.split(' ').any(|name| name == first)
}
